// SPDX-License-Identifier: Apache-2.0
// Converts element types between mote and ONNX, and arrays from and to memory.
#include "memory.h"

#include <fmt/format.h>

#include <array>

#include "kernels.h"
#include "mote/base/dlpack.h"
#include "mote/base/error.h"
#include "mote/uops/element.h"

namespace mote::onnx {
namespace {

struct Pair {
  ElementType onnx;
  DType mote;
};

constexpr std::array kPairs = {
    Pair{ElementType::float32, DType::f32},     Pair{ElementType::float64, DType::f64},
    Pair{ElementType::int32, DType::i32},       Pair{ElementType::int64, DType::i64},
    Pair{ElementType::boolean, DType::boolean}, Pair{ElementType::float16, DType::f16},
    Pair{ElementType::bfloat16, DType::bf16},   Pair{ElementType::int8, DType::i8},
    Pair{ElementType::uint8, DType::u8}};

std::size_t words_for(DType dtype, const std::vector<std::int64_t>& shape) {
  return (static_cast<std::size_t>(element_count(shape)) * mote::size_of(dtype) + 7) / 8 + 1;
}

}  // namespace

Memory::Memory(const Array& values) : Memory(values.dtype, values.shape) {
  for (std::size_t k = 0; k < values.values.size(); ++k) {
    store_element(words_.data(), dtype_, static_cast<std::int64_t>(k), values.values[k]);
  }
}

Memory::Memory(DType dtype, std::vector<std::int64_t> shape)
    : dtype_(dtype),
      shape_(std::move(shape)),
      words_(words_for(dtype, shape_), 0xA5A5A5A5A5A5A5A5) {}

DLTensor Memory::tensor() {
  return {.data = words_.data(),
          .device = {kDLCPU, 0},
          .ndim = static_cast<int>(shape_.size()),
          .dtype = to_dlpack(dtype_),
          .shape = shape_.data(),
          .strides = nullptr,
          .byte_offset = 0};
}

Array Memory::array() const {
  Array a{dtype_, shape_, {}};
  for (std::int64_t k = 0; k < element_count(shape_); ++k) {
    a.values.push_back(load_element(words_.data(), dtype_, k));
  }
  return a;
}

std::optional<DType> dtype_of(ElementType type) {
  for (const Pair& p : kPairs) {
    if (p.onnx == type) return p.mote;
  }
  return std::nullopt;
}

ElementType element_type_of(DType dtype) {
  for (const Pair& p : kPairs) {
    if (p.mote == dtype) return p.onnx;
  }
  throw InternalError(fmt::format("no ONNX element type for {}", name(dtype)));
}

Array to_array(const TensorData& data) {
  const std::optional<DType> dtype = dtype_of(data.type);
  if (!dtype) throw NotApplicable(fmt::format("element type {}", name(data.type)));
  Array a{*dtype, data.shape, {}};
  for (std::int64_t k = 0; k < element_count(data.shape); ++k) {
    a.values.push_back(load_element(data.bytes.data(), *dtype, k));
  }
  return a;
}

Array to_array(TensorData data, const ValueInfo& declared) {
  const bool bits = data.type == ElementType::uint16 && declared.type == ElementType::bfloat16;
  if (bits) data.type = ElementType::bfloat16;
  return to_array(data);
}

}  // namespace mote::onnx
