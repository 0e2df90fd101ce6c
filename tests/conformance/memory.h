// SPDX-License-Identifier: Apache-2.0
// Values in memory, as kernels and ONNX files hold them: little-endian, row-major.
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "model.h"
#include "mote/uops/evaluate.h"

namespace mote::onnx {

/// A dense tensor; outputs are first filled with a pattern that no kernel computes.
class Memory {
 public:
  explicit Memory(const Array& values);
  Memory(DType dtype, std::vector<std::int64_t> shape);
  DLTensor tensor();  ///< a view, valid while this object lives and does not move
  Array array() const;

 private:
  DType dtype_;
  std::vector<std::int64_t> shape_;
  std::vector<std::uint64_t> words_;  ///< aligned for every element type
};

/// Returns mote's element type for ONNX's; nullopt if there is none.
std::optional<DType> dtype_of(ElementType type);
ElementType element_type_of(DType dtype);

/// Throws mote::onnx::NotApplicable, which names the element type, if mote has none for it.
Array to_array(const TensorData& data);
/// Converts a value of a graph. ONNX's tests keep bfloat16 as the bits in a tensor of uint16.
Array to_array(TensorData data, const ValueInfo& declared);

}  // namespace mote::onnx
