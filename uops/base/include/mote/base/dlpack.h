// SPDX-License-Identifier: Apache-2.0
// Small helpers for the tensors that cross borders as DLPack's DLTensor. Shapes and strides are in
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
/// nullopt for element types that mote does not have.
std::optional<DType> from_dlpack(DLDataType dtype);

/// Row-major strides; an extent of zero counts as one, so that no stride is zero.
std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape);
std::span<const std::int64_t> shape_of(const DLTensor& tensor);
/// The tensor's own strides, or the row-major ones if it has none.
std::vector<std::int64_t> strides_of(const DLTensor& tensor);
/// Product of the extents; 1 for a scalar.
std::int64_t element_count(const DLTensor& tensor);
/// The bytes from the tensor's first element in memory to its last; none where it has no elements
/// or no data.
std::span<std::byte> memory_of(const DLTensor& tensor);

/// "f32[1,4,4,5]"; "f32[]" for a scalar; an element type that mote does not have is written as
/// "dlpack(code,bits,lanes)".
std::string describe(const DLTensor& tensor);

}  // namespace mote
