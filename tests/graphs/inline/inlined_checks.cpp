// SPDX-License-Identifier: Apache-2.0
#include "inlined_checks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "mote/oracle/graph_bound.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/uops/bound.h"
#include "mote/uops/gradient.h"

namespace mote {
namespace {

template <typename Value>
Tensor filled_tensor(DType dtype, const AxisList& shape, const Value& value) {
  Tensor t(dtype, shape);
  const std::int64_t count = t.element_count();
  const Tensor flat = t.reshape({count});
  for (std::int64_t k = 0; k < count; ++k) flat.set({k}, value(k));
  return t;
}

std::string input_name(const Program& p, std::size_t k) {
  return std::get<uop::Input>(p.inputs[k].node().kind).name;
}

std::vector<Array> graph_values(const InlinedCase& c, const std::vector<TensorSymbol>& symbols) {
  std::vector<Array> arrays;
  for (const Tensor& t : evaluate(c.g, c.bindings, symbols)) arrays.push_back(array_of(t));
  return arrays;
}

/// The least values of each output, and the greatest.
using Ends = std::pair<std::vector<Array>, std::vector<Array>>;

/// A program and the arrays of its inputs.
struct BoundProgram {
  Program program;
  std::vector<Array> inputs;

  std::vector<Array> values() const { return evaluate(program, inputs, {}); }
  /// Returns the least values of each output, then the greatest.
  Ends interval() const {
    Contract contract;
    contract.open_infinities = true;
    const std::vector<Array> ends = evaluate(bound(program, contract), inputs, {});
    Ends result;
    for (std::size_t k = 0; k < ends.size(); ++k)
      (k % 2 == 0 ? result.first : result.second).push_back(ends[k]);
    for (std::size_t k = 0; k < result.first.size(); ++k)
      for (auto* side : {&result.first, &result.second})
        for (Number& n : (*side)[k].values) n = store_as(n, program.outputs[k].value.dtype());
    return result;
  }
};

BoundProgram program_of_case(const InlinedCase& c, const std::vector<TensorSymbol>& outputs) {
  const GraphProgram p = inlined(c.g, outputs);
  return {p.program, input_arrays(c.g, p, c.bindings)};
}

/// Returns what BoundProgram::interval() does, for the kernels that compute the nodes: some have
/// other formulas than the definitions, and so NaN where these have numbers.
Ends interval_of_nodes(const InlinedCase& c, const std::vector<TensorSymbol>& symbols) {
  SymbolicGraph g(c.g);
  std::vector<TensorSymbol> outputs;
  for (const TensorSymbol s : symbols)
    if (std::ranges::find(outputs, g.at(s.index)) == outputs.end())
      outputs.push_back(g.at(s.index));
  g.set_outputs(outputs);
  std::vector<TensorBinding> bindings;
  for (const auto& [symbol, value] : c.bindings) bindings.emplace_back(g.at(symbol.index), value);
  Context context;
  const auto found = bounds_of(g, bindings, context);
  if (const auto* reason = std::get_if<Reason>(&found)) throw Error(reason->text);
  Ends ends;
  for (const TensorSymbol s : symbols) {
    const auto at = std::ranges::find(outputs, g.at(s.index)) - outputs.begin();
    const auto& bounds = std::get<std::vector<OutputBounds>>(found)[static_cast<std::size_t>(at)];
    const TensorForm& form = g.form(outputs[static_cast<std::size_t>(at)]);
    const auto array = [&](const std::vector<double>& values) {
      return array_of(filled_tensor(form.dtype, form.shape, [&](std::int64_t k) {
        return values[static_cast<std::size_t>(k)];
      }));
    };
    ends.first.push_back(array(bounds.low));
    ends.second.push_back(array(bounds.high));
  }
  return ends;
}

/// The least and the greatest values of a tensor.
struct Interval {
  const Array& low;
  const Array& high;

  double from(std::size_t k) const { return low.values[k].as_real(); }
  double to(std::size_t k) const { return high.values[k].as_real(); }
  bool says_something(std::size_t k) const {
    return std::isfinite(from(k)) && std::isfinite(to(k));
  }
};

void expect_equal(const Array& got, const Array& expected, const std::string& what) {
  ASSERT_EQ(got.shape, expected.shape) << what;
  for (std::size_t k = 0; k < got.values.size(); ++k)
    ASSERT_TRUE(same(got.values[k], expected.values[k]))
        << what << " element " << k << ": " << got.values[k].as_real() << ", expected "
        << expected.values[k].as_real();
}

/// Expects each element in the interval; where that is infinite, an equal element in `other`, if
/// there is one.
void expect_within(const Array& got, const Interval& interval, const Array* other,
                   const std::string& what) {
  ASSERT_EQ(got.shape, interval.low.shape) << what;
  for (std::size_t k = 0; k < got.values.size(); ++k) {
    const double v = got.values[k].as_real();
    if (!interval.says_something(k))
      ASSERT_TRUE(other == nullptr || same(got.values[k], other->values[k]))
          << what << " element " << k << ": " << v << " and " << other->values[k].as_real();
    else
      ASSERT_TRUE(interval.from(k) <= v && v <= interval.to(k))
          << what << " element " << k
          << fmt::format(": {} is not in {}..{}", v, interval.from(k), interval.to(k));
  }
}

void expect_common(const Interval& a, const Interval& b, const std::string& what) {
  ASSERT_EQ(a.low.shape, b.low.shape) << what;
  for (std::size_t k = 0; k < a.low.values.size(); ++k)
    ASSERT_TRUE(!a.says_something(k) || !b.says_something(k) ||
                std::max(a.from(k), b.from(k)) <= std::min(a.to(k), b.to(k)))
        << what << " element " << k
        << fmt::format(": {}..{} and {}..{} have nothing in common", a.from(k), a.to(k), b.from(k),
                       b.to(k));
}

/// Returns the uop gradient of the case's program with respect to those of its inputs that `wrt`
/// names, and which they are.
struct UopGradient {
  BoundProgram of;
  std::vector<std::size_t> wrt;  ///< positions in the case's wrt
};

UopGradient uop_gradient(const InlinedCase& c, const std::vector<TensorSymbol>& seeds) {
  const GraphProgram p = inlined(c.g, c.of);
  UopGradient result;
  std::vector<std::string> wrt;
  for (std::size_t k = 0; k < c.wrt.size(); ++k) {
    const auto at = std::ranges::find(p.inputs, c.wrt[k]);
    if (at == p.inputs.end()) continue;
    result.wrt.push_back(k);
    wrt.push_back(input_name(p.program, static_cast<std::size_t>(at - p.inputs.begin())));
  }
  if (wrt.empty()) return result;
  GradientRequest request;
  request.wrt = wrt;
  const Gradient g = gradient(p.program, request);
  std::map<std::string, Array> arrays;
  const std::vector<Array> given = input_arrays(c.g, p, c.bindings);
  for (std::size_t k = 0; k < given.size(); ++k) arrays[input_name(p.program, k)] = given[k];
  for (std::size_t k = 0; k < seeds.size(); ++k)
    for (const TensorBinding& b : c.bindings)
      if (b.first == seeds[k]) arrays[g.gradient_names[k]] = array_of(b.second);
  result.of.program = g.program;
  for (std::size_t k = 0; k < g.program.inputs.size(); ++k)
    result.of.inputs.push_back(arrays.at(input_name(g.program, k)));
  return result;
}

/// Adds inputs like the symbols, with small whole elements.
std::vector<TensorSymbol> whole_like(InlinedCase& c, const std::vector<TensorSymbol>& symbols,
                                     const std::string& name) {
  std::vector<TensorSymbol> made;
  for (const TensorSymbol s : symbols) {
    made.push_back(c.g.input(name + std::to_string(made.size()),
                             TensorForm(c.g.form(s).dtype, c.g.form(s).shape)));
    c.bindings.emplace_back(
        made.back(), filled_tensor(c.g.form(s).dtype, c.g.form(s).shape,
                                   [](std::int64_t k) { return static_cast<double>(k % 4 + 1); }));
  }
  return made;
}

}  // namespace

TensorSymbol InlinedCase::whole(const char* name, const AxisList& shape, int turn) {
  const TensorSymbol x = g.input(name, {DType::f64, shape});
  bindings.emplace_back(x, filled_tensor(DType::f64, shape, [turn](std::int64_t k) {
                          return static_cast<double>((k * 5 + turn * 3 + k / 7) % 7 - 3);
                        }));
  wrt.push_back(x);
  return x;
}

TensorSymbol InlinedCase::distinct(const char* name, const AxisList& shape, int turn) {
  const TensorSymbol x = g.input(name, {DType::f64, shape});
  bindings.emplace_back(x, filled_tensor(DType::f64, shape, [turn](std::int64_t k) {
                          return static_cast<double>((k * 37 + turn * 11) % 101 - 50);
                        }));
  wrt.push_back(x);
  return x;
}

TensorSymbol InlinedCase::spread(const char* name, const AxisList& shape, double lowest,
                                 double highest, int turn) {
  const TensorSymbol x = g.input(name, {DType::f64, shape});
  bindings.emplace_back(x, filled_tensor(DType::f64, shape, [&](std::int64_t k) {
                          const auto part = static_cast<double>((k * 37 + turn * 11) % 101) / 101;
                          return lowest + (highest - lowest) * part;
                        }));
  wrt.push_back(x);
  return x;
}

TensorSymbol InlinedCase::integers(const char* name, DType dtype, const AxisList& shape,
                                   const std::vector<std::int64_t>& elements) {
  const TensorSymbol x = g.input(name, {dtype, shape});
  bindings.emplace_back(x, filled_tensor(dtype, shape, [&](std::int64_t k) {
                          return elements[static_cast<std::size_t>(k)];
                        }));
  return x;
}

GraphProgram inlined(const SymbolicGraph& g, const std::vector<TensorSymbol>& outputs) {
  auto result = program_of(g, outputs);
  if (const auto* reason = std::get_if<Reason>(&result)) throw Error(reason->text);
  return std::get<GraphProgram>(std::move(result));
}

void expect_values(const InlinedCase& c, Agreement agreement) {
  const std::vector<Array> nodes = graph_values(c, c.of);
  const BoundProgram program = program_of_case(c, c.of);
  const std::vector<Array> values = program.values();
  if (agreement == Agreement::exact) {
    for (std::size_t k = 0; k < nodes.size(); ++k)
      expect_equal(values[k], nodes[k], c.g.text(c.of[k]));
    return;
  }
  const auto [low, high] = program.interval();
  const auto [node_low, node_high] = interval_of_nodes(c, c.of);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    expect_within(nodes[k], {node_low[k], node_high[k]}, &values[k],
                  c.g.text(c.of[k]) + " of the nodes");
    expect_within(values[k], {low[k], high[k]}, &nodes[k], c.g.text(c.of[k]) + " of the program");
  }
}

void expect_in_bound(const InlinedCase& c, const std::vector<Tensor>& got) {
  const auto [low, high] = program_of_case(c, c.of).interval();
  ASSERT_EQ(got.size(), low.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    const Interval interval{low[k], high[k]};
    for (std::size_t i = 0; i < low[k].values.size(); ++i)
      ASSERT_TRUE(interval.says_something(i)) << c.g.text(c.of[k]) << " element " << i;
    expect_within(array_of(got[k]), interval, nullptr, c.g.text(c.of[k]));
  }
}

void expect_gradients(InlinedCase& c, Agreement agreement) {
  const std::vector<TensorSymbol> seeds =
      whole_like(c, c.of, "seed" + std::to_string(c.g.symbol_count()) + "_");
  const UopGradient uops = uop_gradient(c, seeds);
  const std::vector<TensorSymbol> gradients = gradient(c.g, c.of, c.wrt, seeds);
  verify(c.g);
  const BoundProgram own = program_of_case(c, gradients);
  const std::vector<Array> nodes = graph_values(c, gradients);
  c.of = gradients;
  c.wrt.insert(c.wrt.end(), seeds.begin(), seeds.end());
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (std::ranges::find(uops.wrt, k) != uops.wrt.end()) continue;
    for (const Number& n : nodes[k].values) ASSERT_EQ(n.as_real(), 0) << c.g.text(c.wrt[k]);
  }
  if (uops.wrt.empty()) return;
  const std::vector<Array> by_uops = uops.of.values();
  const std::vector<Array> by_own = own.values();
  const auto text = [&](std::size_t k) { return "gradient of " + c.g.text(c.wrt[k]); };
  if (agreement == Agreement::exact) {
    for (std::size_t k = 0; k < nodes.size(); ++k)
      expect_equal(by_own[k], nodes[k], text(k) + ", inlined");
    for (std::size_t n = 0; n < uops.wrt.size(); ++n)
      expect_equal(by_uops[n], nodes[uops.wrt[n]], text(uops.wrt[n]) + ", by uops");
    return;
  }
  const auto other = [&](const Array& array) {
    return agreement == Agreement::bounded ? &array : nullptr;
  };
  const auto [low, high] = own.interval();
  const auto [node_low, node_high] = interval_of_nodes(c, gradients);
  const auto [uop_low, uop_high] = uops.of.interval();
  for (std::size_t k = 0; k < nodes.size(); ++k)
    expect_within(nodes[k], {node_low[k], node_high[k]}, other(by_own[k]), text(k) + ", inlined");
  for (std::size_t n = 0; n < uops.wrt.size(); ++n) {
    const std::size_t k = uops.wrt[n];
    const Interval by_bound{uop_low[n], uop_high[n]};
    expect_within(by_uops[n], by_bound, other(nodes[k]), text(k) + ", by uops");
    expect_common(by_bound, {low[k], high[k]}, text(k));
  }
}

namespace {

/// The interval of a sum of products; `is_known` is false if a term has no bound.
struct ProductInterval {
  long double from = 0;
  long double to = 0;
  bool is_known = true;

  /// Adds the products with elements k % 4 + 1, whose rounding widens the interval.
  void add(const Array& low, const Array& high) {
    constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
    const Interval interval{low, high};
    for (std::size_t k = 0; k < low.values.size(); ++k) {
      is_known = is_known && interval.says_something(k);
      const auto weight = static_cast<long double>(k % 4 + 1);  // exact: 53 bits and 3
      from = std::nextafter(from + weight * interval.from(k), -kInfinity);
      to = std::nextafter(to + weight * interval.to(k), kInfinity);
    }
  }
};

}  // namespace

void expect_symmetry(InlinedCase& c) {
  const std::vector<TensorSymbol> seeds = whole_like(c, c.of, "seed");
  const std::vector<TensorSymbol> directions = whole_like(c, c.wrt, "direction");
  const std::vector<TensorSymbol> first = gradient(c.g, c.of, c.wrt, seeds);
  std::vector<std::vector<TensorSymbol>> second;
  for (std::size_t k = 0; k < first.size(); ++k)
    second.push_back(gradient(c.g, std::vector{first[k]}, c.wrt, std::vector{directions[k]}));
  verify(c.g);
  const auto sum = [&](std::size_t k, std::size_t by) {
    const auto [low, high] = program_of_case(c, {second[k][by]}).interval();
    ProductInterval product;
    product.add(low[0], high[0]);
    return product;
  };
  for (std::size_t k = 0; k < first.size(); ++k)
    for (std::size_t by = 0; by < k; ++by) {
      const ProductInterval one = sum(k, by), other = sum(by, k);
      if (!one.is_known || !other.is_known) continue;
      EXPECT_LE(std::max(one.from, other.from), std::min(one.to, other.to))
          << "second derivatives by " << c.g.text(c.wrt[k]) << " and " << c.g.text(c.wrt[by]);
    }
}

bool expect_forward_mode(InlinedCase& c) {
  const std::vector<TensorSymbol> seeds = whole_like(c, c.of, "seed");
  const std::vector<TensorSymbol> tangents = whole_like(c, c.wrt, "tangent");
  std::vector<TensorSymbol> all = jvp(c.g, c.of, c.wrt, tangents);
  const std::size_t changes = all.size();
  const std::vector<TensorSymbol> back = gradient(c.g, c.of, c.wrt, seeds);
  all.insert(all.end(), back.begin(), back.end());
  verify(c.g);
  const std::vector<Array> nodes = graph_values(c, all);
  const auto [low, high] = program_of_case(c, all).interval();
  const auto [node_low, node_high] = interval_of_nodes(c, all);
  ProductInterval forward;
  ProductInterval backward;
  for (std::size_t k = 0; k < all.size(); ++k) {
    expect_within(nodes[k], {node_low[k], node_high[k]}, nullptr,
                  k < changes ? "change" : "gradient");
    (k < changes ? forward : backward).add(low[k], high[k]);
  }
  if (!forward.is_known || !backward.is_known) return false;
  EXPECT_LE(std::max(forward.from, backward.from), std::min(forward.to, backward.to));
  return true;
}

}  // namespace mote
