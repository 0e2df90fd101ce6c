// SPDX-License-Identifier: Apache-2.0
// Converts DLPack's element types, strides and shapes, and describes tensors for messages.
#include "mote/base/dlpack.h"

#include <algorithm>

#include "mote/base/kernel.h"

namespace mote {

DLDataType to_dlpack(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  return {info(dtype).dlpack_code, bits, 1};
}

std::optional<DType> from_dlpack(DLDataType dtype) {
  for (const DType d : all_dtypes()) {
    const DLDataType known = to_dlpack(d);
    if (dtype.code == known.code && dtype.bits == known.bits && dtype.lanes == 1) return d;
  }
  return std::nullopt;
}

std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

std::span<const std::int64_t> shape_of(const DLTensor& tensor) {
  return {tensor.shape, static_cast<std::size_t>(tensor.ndim)};
}

std::vector<std::int64_t> strides_of(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return contiguous_strides(shape_of(tensor));
  return {tensor.strides, tensor.strides + tensor.ndim};
}

std::span<std::byte> memory_of(const DLTensor& tensor) {
  std::int64_t lowest = 0;  // in elements from index 0
  std::int64_t highest = 0;
  std::int64_t row_major = 1;
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    const std::int64_t extent = tensor.shape[axis];
    if (extent == 0) return {};
    const std::int64_t stride = tensor.strides != nullptr ? tensor.strides[axis] : row_major;
    row_major *= extent;
    (stride < 0 ? lowest : highest) += (extent - 1) * stride;
  }
  if (tensor.data == nullptr) return {};
  const std::int64_t size = tensor.dtype.bits / 8;
  std::byte* const first = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  return {first + lowest * size, static_cast<std::size_t>((highest - lowest + 1) * size)};
}

std::int64_t element_count(const DLTensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape_of(tensor)) count *= extent;
  return count;
}

std::string describe(const DLTensor& tensor) {
  const DLDataType d = tensor.dtype;
  const std::optional<DType> dtype = from_dlpack(d);
  std::string text = dtype ? std::string(name(*dtype))
                           : "dlpack(" + std::to_string(d.code) + "," + std::to_string(d.bits) +
                                 "," + std::to_string(d.lanes) + ")";
  text += "[";
  for (int axis = 0; axis < tensor.ndim; ++axis)
    text += (axis > 0 ? "," : "") + std::to_string(tensor.shape[axis]);
  text += "]";
  const DLDevice& on = tensor.device;
  if (on.device_type == kDLCPU && on.device_id == 0) return text;
  return text + "@" + std::to_string(static_cast<int>(on.device_type)) + ":" +
         std::to_string(on.device_id);
}

}  // namespace mote
