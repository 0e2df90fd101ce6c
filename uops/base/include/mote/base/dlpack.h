// SPDX-License-Identifier: Apache-2.0
// Helps with the tensors that cross interfaces as DLPack's DLTensor. Shapes and strides are in
// elements; NULL strides mean row-major.
#pragma once

#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mote/base/dtype.h"
#include "mote/base/export.h"

namespace MOTE_API mote {

DLDataType to_dlpack(DType dtype);
/// Returns nullopt for element types that mote does not have.
std::optional<DType> from_dlpack(DLDataType dtype);

/// Returns row-major strides; an extent of zero counts as one, so that no stride is zero.
std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape);
std::span<const std::int64_t> shape_of(const DLTensor& tensor);
/// Returns the tensor's own strides, or the row-major ones if it has none.
std::vector<std::int64_t> strides_of(const DLTensor& tensor);
/// Returns the product of the extents; 1 for a scalar.
std::int64_t element_count(const DLTensor& tensor);
/// Returns the bytes from the tensor's first element in memory to its last; none if it has no
/// elements or no data.
std::span<std::byte> memory_of(const DLTensor& tensor);

/// Returns "f32[1,4,4,5]", or "f32[]" for a scalar; an element type that mote does not have is
/// written as "dlpack(code,bits,lanes)". A tensor that is not in the host's memory has its DLPack
/// device behind it: "f32[64]@2:0".
std::string describe(const DLTensor& tensor);

}  // namespace mote
