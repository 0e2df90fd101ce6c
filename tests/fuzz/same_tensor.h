// SPDX-License-Identifier: Apache-2.0
// Compares two tensors bit for bit.
#pragma once

#include <cstring>

#include "mote/runtime/tensor.h"

namespace mote::fuzz {

inline bool same_tensor(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const Tensor x = clone(a);
  const Tensor y = clone(b);
  const auto bytes = static_cast<std::size_t>(x.element_count()) * size_of(x.dtype());
  return bytes == 0 || std::memcmp(x.data(), y.data(), bytes) == 0;
}

}  // namespace mote::fuzz
