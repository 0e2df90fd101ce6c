// SPDX-License-Identifier: Apache-2.0
// Gives the names and sizes of the element types.
#include "mote/base/dtype.h"

#include <array>
#include <string>

#include "mote/base/error.h"

namespace mote {
namespace {

using detail::kDTypes;

constexpr bool in_order() {
  for (std::size_t k = 0; k < kDTypes.size(); ++k)
    if (static_cast<std::size_t>(kDTypes[k].dtype) != k) return false;
  return true;
}
static_assert(in_order());

/// The dtypes by kind, each kind in the order of the table.
constexpr auto kAll = [] {
  std::array<DType, kDTypes.size()> all{};
  std::size_t count = 0;
  for (const auto kind :
       {DTypeInfo::Kind::real, DTypeInfo::Kind::integer, DTypeInfo::Kind::boolean})
    for (const DTypeInfo& e : kDTypes)
      if (e.kind == kind) all[count++] = e.dtype;
  return all;
}();

const DTypeInfo& checked(DType dtype) {
  const auto at = static_cast<std::size_t>(dtype);
  if (at < kDTypes.size()) return kDTypes[at];
  throw Error("dtype: " + std::to_string(at) + " is none of mote's");
}

}  // namespace

std::string_view name(DType dtype) { return checked(dtype).name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (const DTypeInfo& e : kDTypes)
    if (e.name == text) return e.dtype;
  return std::nullopt;
}

std::span<const DType> all_dtypes() { return kAll; }

std::size_t size_of(DType dtype) { return checked(dtype).size; }

}  // namespace mote
