// SPDX-License-Identifier: Apache-2.0
// Finds cases whose sizes and parameters fit together by trying seeds.
#include "gradient_cases.h"

#include <algorithm>

namespace mote::test {

bool is_differentiable(const Program& p) {
  const auto& in = p.inputs;
  const auto& out = p.outputs;
  return std::any_of(in.begin(), in.end(), [](const Uop& u) { return is_real(u.dtype()); }) &&
         std::any_of(out.begin(), out.end(),
                     [](const Output& o) { return is_real(o.value.dtype()); });
}

GradientCase some_case(const Program& p, std::uint64_t seed, bool positive) {
  GradientCase c{p, {}, {}};
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  const auto below = [&](std::int64_t n) {
    state = (state ^ (state >> 29U)) * 0xbf58476d1ce4e5b9U;
    return static_cast<std::int64_t>((state >> 33U) % static_cast<std::uint64_t>(n));
  };
  std::map<Symbol, std::int64_t> values;
  for (const SizeRule& r : p.size_rules) values[r.size] = 1 + below(3);
  for (const ParamDecl& d : p.params) {
    if (!d.is_integer) {
      c.params[d.name] = Number(d.default_value.value_or(0.5));
      continue;
    }
    const std::int64_t low = d.lower.value_or(-1);
    const std::int64_t n =
        low + below(std::min<std::int64_t>(d.upper.value_or(low + 1) - low + 1, 3));
    c.params[d.name] = Number(n);
    values[Symbol(SymbolKind::param, d.name)] = n;
  }
  for (const Uop& u : p.inputs) {
    std::vector<std::int64_t> shape;
    for (const Expr& e : u.shape()) shape.push_back(evaluate(e, values));
    Array a = random_array(u.dtype(), shape, seed * 64 + c.inputs.size());
    for (Number& n : a.values)
      if (positive && is_real(u.dtype())) n = Number(0.25 + (n.real() + 2) * 0.1875);
    c.inputs.push_back(std::move(a));
  }
  mote::bind(
      p,
      [&] {
        std::vector<std::vector<std::int64_t>> shapes;
        for (const Array& a : c.inputs) shapes.push_back(a.shape);
        return shapes;
      }(),
      c.params);
  return c;
}

}  // namespace mote::test
