// SPDX-License-Identifier: Apache-2.0
// Copies of small tensors in the middle of loops: row-major ones of one form on the host are moved
// at once, without the questions that copy() asks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "mote/runtime/tensor.h"

namespace mote {

/// The number of bytes of a row-major tensor on the host; -1 for any other tensor.
inline std::int64_t plain_bytes(const DLTensor& x) {
  if (x.device.device_type != kDLCPU) return -1;
  std::int64_t count = 1;
  for (int axis = x.ndim; axis-- > 0;) {
    if (x.strides != nullptr && x.shape[axis] > 1 && x.strides[axis] != count) return -1;
    count *= x.shape[axis];
  }
  return count * (x.dtype.bits * x.dtype.lanes / 8);
}

inline std::byte* first_byte(const DLTensor& x) {
  return static_cast<std::byte*>(x.data) + x.byte_offset;
}

inline bool has_same_dtype(const DLTensor& x, const DLTensor& y) {
  return x.dtype.code == y.dtype.code && x.dtype.bits == y.dtype.bits &&
         x.dtype.lanes == y.dtype.lanes;
}

inline bool has_same_shape(const DLTensor& x, const DLTensor& y) {
  return x.ndim == y.ndim && std::equal(x.shape, x.shape + x.ndim, y.shape);
}

/// Copies x to y, which has its shape.
inline void copy_plainly(const Tensor& x, const Tensor& y) {
  const std::int64_t bytes = plain_bytes(x.dl());
  if (bytes < 0 || bytes != plain_bytes(y.dl()) || !has_same_dtype(x.dl(), y.dl()))
    return copy(x, y);
  if (bytes > 0)
    std::memmove(first_byte(y.dl()), first_byte(x.dl()), static_cast<std::size_t>(bytes));
}

}  // namespace mote
