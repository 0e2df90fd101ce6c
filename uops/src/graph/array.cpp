// SPDX-License-Identifier: Apache-2.0
// Arrays: counts elements, compares arrays, checks that one fits an input.
#include "graph/array.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/node.h"
#include "mote/base/error.h"

namespace mote {

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t n = 1;
  for (const std::int64_t e : shape)
    if (__builtin_mul_overflow(n, e, &n))
      throw Error(fmt::format("shape {} has more than 2^63 elements", shape_text(shape)));
  return n;
}

bool operator==(const Array& a, const Array& b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), same);
}

void check_array(const Program& p, std::size_t k, const Array& a) {
  const Uop& u = p.inputs[k];
  const std::string& name = std::get<uop::Input>(u.node().kind).name;
  if (a.dtype != u.dtype())
    throw Error(fmt::format("{}: input {} must be {}, got {}", p.name, name, mote::name(u.dtype()),
                            mote::name(a.dtype)));
  if (static_cast<std::int64_t>(a.values.size()) != element_count(a.shape))
    throw Error(fmt::format("{}: input {} {} has {} values", p.name, name, shape_text(a.shape),
                            a.values.size()));
  for (const Number& n : a.values)
    if (n.is_real() != is_real(a.dtype))
      throw Error(fmt::format("{}: input {}: reals hold doubles, others int64", p.name, name));
}

}  // namespace mote
