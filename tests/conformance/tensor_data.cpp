// SPDX-License-Identifier: Apache-2.0
// Reads tensors of ONNX files: raw bytes or typed fields are brought into one form and checked
// against the shape.
#include <fmt/format.h>

#include <iterator>
#include <limits>

#include "model.h"
#include "mote/base/error.h"
#include "wire.h"

namespace mote::onnx {
namespace {

struct Entry {
  std::string_view name;
  std::size_t bits;
};

constexpr Entry kEntries[] = {{"undefined", 0},      {"float32", 32},   {"uint8", 8},
                              {"int8", 8},           {"uint16", 16},    {"int16", 16},
                              {"int32", 32},         {"int64", 64},     {"string", 0},
                              {"bool", 8},           {"float16", 16},   {"float64", 64},
                              {"uint32", 32},        {"uint64", 64},    {"complex64", 64},
                              {"complex128", 128},   {"bfloat16", 16},  {"float8e4m3fn", 8},
                              {"float8e4m3fnuz", 8}, {"float8e5m2", 8}, {"float8e5m2fnuz", 8},
                              {"uint4", 4},          {"int4", 4},       {"float4e2m1", 4},
                              {"float8e8m0", 8},     {"uint2", 2},      {"int2", 2}};

const Entry& entry(ElementType type) { return kEntries[static_cast<std::size_t>(type)]; }

/// Values as the typed fields hold them, before they are written to `bytes`.
struct Typed {
  std::vector<std::uint64_t> singles, doubles;
  std::vector<std::int64_t> narrow, wide, unsigned_wide;
};

void append_bytes(std::string& bytes, std::uint64_t bits, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) bytes.push_back(static_cast<char>(bits >> 8 * k & 0xFFU));
}

/// Complex numbers lie in the real fields, two values each.
void pack(const Typed& typed, TensorData& tensor) {
  const std::size_t size = size_of(tensor.type);
  const auto append = [&](const auto& values, std::size_t each) {
    for (const auto v : values) append_bytes(tensor.bytes, static_cast<std::uint64_t>(v), each);
  };
  switch (tensor.type) {
    case ElementType::float32:
    case ElementType::complex64:
      return append(typed.singles, 4);
    case ElementType::float64:
    case ElementType::complex128:
      return append(typed.doubles, 8);
    case ElementType::int64:
      return append(typed.wide, size);
    case ElementType::uint32:
    case ElementType::uint64:
      return append(typed.unsigned_wide, size);
    default:
      return append(typed.narrow, size);
  }
}

std::uint64_t checked_count(const TensorData& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : tensor.shape) {
    if (extent < 0) throw Error(fmt::format("onnx tensor: extent {} is below zero", extent));
    if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(extent), &count) ||
        count > std::uint64_t{std::numeric_limits<std::int64_t>::max()} / 128) {
      throw Error("onnx tensor: its extents multiply to more than 2^56 elements");
    }
  }
  return count;
}

void check(const TensorData& tensor) {
  const std::uint64_t count = checked_count(tensor);
  const bool is_text = tensor.type == ElementType::string;
  const std::uint64_t expected = is_text ? count : (count * entry(tensor.type).bits + 7) / 8;
  const std::uint64_t got = is_text ? tensor.strings.size() : tensor.bytes.size();
  if (got == expected) return;
  throw Error(fmt::format("onnx tensor: got {} {}, expected {} for {} elements of {}", got,
                          is_text ? "strings" : "bytes", expected, count, name(tensor.type)));
}

}  // namespace

ElementType element_type(std::int64_t number) {
  if (number <= 0 || number >= std::ssize(kEntries)) {
    throw Error(fmt::format("onnx tensor: there is no element type {}", number));
  }
  return static_cast<ElementType>(number);
}

std::string_view name(ElementType type) { return entry(type).name; }
std::size_t size_of(ElementType type) { return (entry(type).bits + 7) / 8; }

TensorData parse_tensor(std::string_view bytes) {
  TensorData tensor;
  Typed typed;
  bool is_raw = false;
  for (WireReader reader(bytes); !reader.done();) {
    const Field field = reader.next();
    if (field.number == 1) append_integers(field, tensor.shape);
    if (field.number == 2) tensor.type = element_type(integer_of(field));
    if (field.number == 4) append_fixed(field, WireType::fixed32, typed.singles);
    if (field.number == 5) append_integers(field, typed.narrow);
    if (field.number == 6) tensor.strings.emplace_back(bytes_of(field));
    if (field.number == 7) append_integers(field, typed.wide);
    if (field.number == 8) tensor.name = std::string(bytes_of(field));
    if (field.number == 9) {
      tensor.bytes = std::string(bytes_of(field));
      is_raw = true;
    }
    if (field.number == 10) append_fixed(field, WireType::fixed64, typed.doubles);
    if (field.number == 11) append_integers(field, typed.unsigned_wide);
    if (field.number == 13) throw Error("onnx tensor: its data is in another file");
  }
  if (tensor.type == ElementType::undefined) throw Error("onnx tensor: it has no element type");
  if (!is_raw) pack(typed, tensor);
  check(tensor);
  return tensor;
}

}  // namespace mote::onnx
