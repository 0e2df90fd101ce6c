// One table of element types; one load and one store for each.
#include "memory.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "kernels.h"
#include "mote/base/dlpack.h"
#include "mote/base/error.h"

namespace mote::onnx {
namespace {

struct Pair {
  ElementType onnx;
  DType mote;
};

constexpr std::array kPairs = {
    Pair{ElementType::float32, DType::f32}, Pair{ElementType::float64, DType::f64},
    Pair{ElementType::int32, DType::i32}, Pair{ElementType::int64, DType::i64},
    Pair{ElementType::boolean, DType::boolean}};

template <typename T>
T loaded(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
void stored(T value, std::uint8_t* at) {
  std::memcpy(at, &value, sizeof value);
}

Number load(DType dtype, const std::uint8_t* at) {
  switch (dtype) {
    case DType::f32:
      return static_cast<double>(loaded<float>(at));
    case DType::f64:
      return loaded<double>(at);
    case DType::i32:
      return std::int64_t{loaded<std::int32_t>(at)};
    case DType::i64:
      return loaded<std::int64_t>(at);
    case DType::boolean:
      return std::int64_t{*at};
  }
  throw InternalError("load: unknown dtype");
}

void store(const Number& n, DType dtype, std::uint8_t* at) {
  switch (dtype) {
    case DType::f32:
      return stored(static_cast<float>(n.real()), at);
    case DType::f64:
      return stored(n.real(), at);
    case DType::i32:
      return stored(static_cast<std::int32_t>(n.integer()), at);
    case DType::i64:
      return stored(n.integer(), at);
    case DType::boolean:
      return stored(static_cast<std::uint8_t>(n.integer() != 0), at);
  }
  throw InternalError("store: unknown dtype");
}

std::size_t words_for(DType dtype, const std::vector<std::int64_t>& shape) {
  return (static_cast<std::size_t>(element_count(shape)) * mote::size_of(dtype) + 7) / 8 + 1;
}

}  // namespace

Memory::Memory(const Array& values) : Memory(values.dtype, values.shape) {
  auto* at = reinterpret_cast<std::uint8_t*>(words_.data());
  for (const Number& n : values.values) {
    store(n, dtype_, at);
    at += mote::size_of(dtype_);
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
  const auto* at = reinterpret_cast<const std::uint8_t*>(words_.data());
  for (std::int64_t k = element_count(shape_); k > 0; --k) {
    a.values.push_back(load(dtype_, at));
    at += mote::size_of(dtype_);
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
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(data.bytes.data());
  for (std::size_t at = 0; at < data.bytes.size(); at += mote::size_of(*dtype)) {
    a.values.push_back(load(*dtype, bytes + at));
  }
  return a;
}

}  // namespace mote::onnx
