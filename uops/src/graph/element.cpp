// SPDX-License-Identifier: Apache-2.0
// Elements in memory, as numbers.
#include "mote/uops/element.h"

#include "mote/base/element_types.h"

namespace mote {
namespace {

std::int64_t offset(DType dtype, std::int64_t k) {
  return k * static_cast<std::int64_t>(size_of(dtype));
}

}  // namespace

Number load_element(const void* data, DType dtype, std::int64_t k) {
  const std::byte* at = static_cast<const std::byte*>(data) + offset(dtype, k);
  // The byte of a bool is kept: a judge must see one that is neither 0 nor 1.
  if (dtype == DType::boolean) return Number(std::to_integer<std::int64_t>(*at));
  return with_dtype(dtype, [&]<DType D>() { return Number(load_from<D>(at)); });
}

void store_element(void* data, DType dtype, std::int64_t k, const Number& n) {
  std::byte* at = static_cast<std::byte*>(data) + offset(dtype, k);
  with_dtype(dtype, [&]<DType D>() {
    n.is_real() ? store_to<D>(at, n.real()) : store_to<D>(at, n.integer());
  });
}

}  // namespace mote
