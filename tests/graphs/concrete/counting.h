// SPDX-License-Identifier: Apache-2.0
// Small tensors with known numbers, and comparison bit for bit.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "mote/runtime/tensor.h"
#include "mote/runtime/tensor_form.h"

namespace mote::test {

inline Tensor counting(const AxisList& shape, double from = 0, double step = 1) {
  Tensor x(DType::f32, shape);
  const Tensor flat = x.reshape({x.element_count()});
  for (std::int64_t k = 0; k < x.element_count(); ++k)
    flat.set({k}, from + step * static_cast<double>(k));
  return x;
}

inline Tensor filled(const AxisList& shape, double value) { return counting(shape, value, 0); }

/// True if contiguous tensors of one form hold the same bytes.
inline bool same_bits(const Tensor& x, const Tensor& y) {
  const auto bytes = static_cast<std::size_t>(x.element_count()) * size_of(x.dtype());
  return x.dtype() == y.dtype() && x.shape() == y.shape() && x.is_contiguous() &&
         y.is_contiguous() && (bytes == 0 || std::memcmp(x.data(), y.data(), bytes) == 0);
}

inline TensorForm f32(const AxisList& shape) { return {DType::f32, shape}; }

}  // namespace mote::test
