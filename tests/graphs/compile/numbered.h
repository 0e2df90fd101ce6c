// SPDX-License-Identifier: Apache-2.0
// Tensors with values that tests can foresee, and the bits of results.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "mote/runtime/tensor.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote::test {

/// Returns a tensor with the values of a short cycle around 0.
inline Tensor numbered(const TensorForm& form, std::int64_t first = 0) {
  const Tensor tensor(form.dtype, form.shape);
  const Tensor flat = tensor.reshape({tensor.element_count()});
  for (std::int64_t k = 0; k < flat.extent(0); ++k)
    flat.set({k}, static_cast<double>((k * 7 + first) % 11 - 5) / 8);
  return tensor;
}
/// Returns such a tensor of the symbol's form.
inline Tensor numbered(const SymbolicGraph& graph, TensorSymbol symbol, std::int64_t first = 0) {
  return numbered(graph.form(symbol), first);
}

/// Returns the bytes of all elements, in row-major order.
inline std::vector<std::byte> bits(const Tensor& x) {
  const Tensor whole = clone(x);
  std::vector<std::byte> bytes(static_cast<std::size_t>(whole.element_count()) *
                               size_of(whole.dtype()));
  if (!bytes.empty()) std::memcpy(bytes.data(), whole.data(), bytes.size());
  return bytes;
}

}  // namespace mote::test
