// SPDX-License-Identifier: Apache-2.0
// Gives the names and sizes of the element types.
#include "mote/base/dtype.h"

#include <array>
#include <string>

#include "mote/base/error.h"

namespace mote {
namespace {

struct Entry {
  DType dtype;
  std::string_view name;
  std::size_t size;
};

constexpr std::array<Entry, 9> kEntries = {{{DType::f32, "f32", 4},
                                            {DType::f64, "f64", 8},
                                            {DType::i32, "i32", 4},
                                            {DType::i64, "i64", 8},
                                            {DType::boolean, "bool", 1},
                                            {DType::f16, "f16", 2},
                                            {DType::bf16, "bf16", 2},
                                            {DType::i8, "i8", 1},
                                            {DType::u8, "u8", 1}}};
constexpr std::array<DType, 9> kAll = {DType::f32,  DType::f64, DType::f16,
                                       DType::bf16, DType::i32, DType::i64,
                                       DType::i8,   DType::u8,  DType::boolean};

const Entry& entry(DType dtype) {
  const auto place = static_cast<std::size_t>(dtype);
  if (place < kEntries.size()) return kEntries[place];
  throw Error("dtype: " + std::to_string(place) + " is none of mote's");
}

}  // namespace

std::string_view name(DType dtype) { return entry(dtype).name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (const Entry& e : kEntries)
    if (e.name == text) return e.dtype;
  return std::nullopt;
}

std::span<const DType> all_dtypes() { return kAll; }

std::size_t size_of(DType dtype) { return entry(dtype).size; }

}  // namespace mote
