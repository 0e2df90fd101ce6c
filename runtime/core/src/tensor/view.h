// SPDX-License-Identifier: Apache-2.0
// Functions that views and planners share: other metadata on the same memory.
#pragma once

#include "mote/runtime/tensor.h"

namespace mote {

/// Returns x's memory from element `offset` on, with that shape and those strides (checked for
/// overflow).
Tensor reshaped_view(const Tensor& x, const AxisList& shape, const AxisList& strides,
                     std::int64_t offset);

/// True if x and y share a byte; interleaved views need not (share_bytes(), mote/runtime/overlap.h).
bool overlap(const DLTensor& x, const DLTensor& y);
inline bool overlap(const Tensor& x, const Tensor& y) { return overlap(x.dl(), y.dl()); }

// The queries of Tensor, for any tensor with strides.
DType dtype_of(const DLTensor& x);
bool is_distinct(const DLTensor& x);

inline AxisList extents_of(const DLTensor& x) {
  return std::span<const std::int64_t>(x.shape, static_cast<std::size_t>(x.ndim));
}
inline AxisList strides_list(const DLTensor& x) {
  return std::span<const std::int64_t>(x.strides, static_cast<std::size_t>(x.ndim));
}
/// Returns the first element's address; 0 if there is no memory.
inline std::uintptr_t address_of(const DLTensor& x) {
  return x.data != nullptr ? reinterpret_cast<std::uintptr_t>(x.data) + x.byte_offset : 0;
}
TensorForm form_of(const DLTensor& x);
/// True if dtype, extents, strides and device are equal.
bool equal_forms(const DLTensor& x, const DLTensor& y);

}  // namespace mote
