// SPDX-License-Identifier: Apache-2.0
// Makes the bound of a graph's program, computes it by blocks, and compares element by element.
#include "mote/oracle/graph_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "blocks/evaluate.h"
#include "graph/node_contracts.h"
#include "judge/bounds.h"
#include "mote/oracle/graph_program.h"
#include "mote/uops/bound.h"

namespace mote {
namespace {

/// Returns the number of elements that evaluation visits, reduced ones too.
double visited_elements(const Program& program) {
  double total = 0;
  for (const Uop& u : topological(roots(program))) {
    const auto* reduce = std::get_if<uop::Reduce>(&u.node().kind);
    double elements = 1;
    for (const Expr& extent : (reduce != nullptr ? reduce->x : u).shape())
      elements *= static_cast<double>(extent.constant().value_or(1));
    total += elements;
  }
  return total;
}

Dense dense_of(const Array& array) {
  Dense dense(array.dtype, std::ssize(array.values));
  for (std::int64_t k = 0; k < dense.count(); ++k)
    dense.set(k, array.values[static_cast<std::size_t>(k)]);
  return dense;
}

/// Returns the ends of each output of a program from those of its bound.
std::vector<Interval> intervals(const std::shared_ptr<const Program>& bounds,
                                const std::vector<Array>& inputs) {
  Case c;
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<Dense> values;
  for (const Array& a : inputs) {
    shapes.push_back(a.shape);
    values.push_back(dense_of(a));
    c.inputs.push_back({"", a.dtype, a.shape, {}});
  }
  c.program = bounds;
  c.binding = mote::bind(*bounds, shapes, {});
  c.params = c.binding.params;
  std::vector<Dense> ends;
  for (std::size_t k = 0; k < bounds->outputs.size(); ++k) {
    const DType dtype = bounds->outputs[k].value.dtype();
    c.outputs.push_back({"", dtype, c.binding.outputs[k], {}});
    ends.emplace_back(dtype, element_count(c.binding.outputs[k]));
  }
  blocks::Evaluator(bounds).run(c, values, ends);
  std::vector<Interval> result(ends.size() / 2);
  for (std::size_t k = 0; k < ends.size(); ++k) result[k / 2].ends.push_back(std::move(ends[k]));
  return result;
}

std::string location_text(std::int64_t linear, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; linear /= shape[axis])
    index[axis] = linear % shape[axis];
  return fmt::format("[{}]", fmt::join(index, ","));
}

/// `of_definition` returns another interval that an element may lie in.
void judge(const std::string& name, const Array& result, const Interval& interval,
           const std::function<const Interval*()>& of_definition, GraphBoundVerdict& verdict) {
  const Dense got = dense_of(result);
  std::int64_t first = -1, outside = 0;
  for (std::int64_t k = 0; k < got.count(); ++k) {
    ++(is_indeterminate(interval, k, got.dtype()) ? verdict.open : verdict.judged);
    if (accepts(interval, k, got)) continue;
    if (const Interval* other = of_definition(); other != nullptr && accepts(*other, k, got))
      continue;
    if (outside++ == 0) first = k;
  }
  if (outside == 0 || verdict.failure) return;
  verdict.failure = fmt::format("{}: element {}: got {}, the bound is {}..{}; {} of {} are outside",
                                name, location_text(first, result.shape), got.at(first).as_real(),
                                interval.ends[0].at(first).as_real(),
                                interval.ends[1].at(first).as_real(), outside, got.count());
}

/// Returns the interval of each output, for kernels of these contracts.
std::variant<std::vector<Interval>, Reason> output_intervals(
    const SymbolicGraph& graph, std::span<const TensorBinding> bindings, NodeContracts promised) {
  const std::vector<TensorSymbol> outputs = graph.outputs();
  const auto inlined = program_of(graph, outputs, promised.forms);
  if (const auto* reason = std::get_if<Reason>(&inlined)) return *reason;
  const auto& p = std::get<GraphProgram>(inlined);
  const std::size_t uops = topological(roots(p.program)).size();
  if (uops > kMaxBoundedUops)
    return Reason{fmt::format("{}: {} uops, the bound is made of at most {}", graph.name(), uops,
                              kMaxBoundedUops)};
  promised.weakest.open_infinities = true;  // a graph holds gradients
  std::shared_ptr<const Program> bounds;
  try {
    bounds = std::make_shared<const Program>(bound(p.program, promised.weakest));
  } catch (const Error& e) {
    return Reason{graph.name() + ": " + e.what()};
  }
  if (const double elements = visited_elements(*bounds); elements > kMaxBoundedElements)
    return Reason{fmt::format("{}: the bound has {:.2g} elements, at most {:.2g} are computed",
                              graph.name(), elements, kMaxBoundedElements)};
  return intervals(bounds, input_arrays(graph, p, bindings));
}

/// A kernel of another formula may compute an element by the definition of its op. These are the
/// intervals of both: one of them, or one for all formulas and one for all definitions.
struct IntervalsOfKernels {
  std::vector<Interval> of_forms;
  NodeContracts by_definition;  ///< the same promises without formulas
  bool are_different = false;   ///< some kernel names a formula
};

std::variant<IntervalsOfKernels, Reason> intervals_of_kernels(
    const SymbolicGraph& graph, std::span<const TensorBinding> bindings, Context& context) {
  const auto contracts = node_contracts(graph, graph.outputs(), context);
  if (const auto* reason = std::get_if<Reason>(&contracts)) return *reason;
  IntervalsOfKernels result;
  result.by_definition = std::get<NodeContracts>(contracts);
  result.are_different = !result.by_definition.forms.empty();
  auto found = output_intervals(graph, bindings, result.by_definition);
  if (const auto* reason = std::get_if<Reason>(&found)) return *reason;
  result.of_forms = std::get<std::vector<Interval>>(std::move(found));
  result.by_definition.forms.clear();
  return result;
}

std::vector<double> reals_of(const Dense& dense) {
  std::vector<double> reals(static_cast<std::size_t>(dense.count()));
  for (std::int64_t k = 0; k < dense.count(); ++k)
    reals[static_cast<std::size_t>(k)] = dense.at(k).as_real();
  return reals;
}

/// Makes the bounds those of what lies in one or the other; nothing is known of what may be NaN and
/// may be a number.
void widen(OutputBounds& bounds, const Interval& other) {
  const std::vector<double> low = reals_of(other.ends[0]), high = reals_of(other.ends[1]);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < low.size(); ++k) {
    const bool may_be_nan = std::isnan(bounds.low[k]) || std::isnan(bounds.high[k]);
    const bool other_may_be = std::isnan(low[k]) || std::isnan(high[k]);
    const bool is_unknown = may_be_nan != other_may_be;
    bounds.low[k] = is_unknown ? -kInfinity : std::min(bounds.low[k], low[k]);
    bounds.high[k] = is_unknown ? kInfinity : std::max(bounds.high[k], high[k]);
  }
}

}  // namespace

std::variant<std::vector<OutputBounds>, Reason> bounds_of(const SymbolicGraph& graph,
                                                          std::span<const TensorBinding> bindings,
                                                          Context& context) {
  const auto found = intervals_of_kernels(graph, bindings, context);
  if (const auto* reason = std::get_if<Reason>(&found)) return *reason;
  const auto& of_kernels = std::get<IntervalsOfKernels>(found);
  std::vector<OutputBounds> bounds;
  for (const Interval& interval : of_kernels.of_forms)
    bounds.push_back({reals_of(interval.ends[0]), reals_of(interval.ends[1])});
  if (!of_kernels.are_different) return bounds;
  const auto others = output_intervals(graph, bindings, of_kernels.by_definition);
  if (const auto* reason = std::get_if<Reason>(&others)) return *reason;
  for (std::size_t k = 0; k < bounds.size(); ++k)
    widen(bounds[k], std::get<std::vector<Interval>>(others)[k]);
  return bounds;
}

std::variant<GraphBoundVerdict, Reason> judge_by_bound(const SymbolicGraph& graph,
                                                       std::span<const TensorBinding> bindings,
                                                       std::span<const Tensor> results,
                                                       Context& context) {
  const auto found = intervals_of_kernels(graph, bindings, context);
  if (const auto* reason = std::get_if<Reason>(&found)) return *reason;
  const auto& of_kernels = std::get<IntervalsOfKernels>(found);
  const std::vector<TensorSymbol> outputs = graph.outputs();
  GraphBoundVerdict verdict;
  std::optional<std::variant<std::vector<Interval>, Reason>>
      of_definitions;  // made where asked for
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto of_definition = [&]() -> const Interval* {
      if (!of_kernels.are_different) return nullptr;
      if (!of_definitions)
        of_definitions = output_intervals(graph, bindings, of_kernels.by_definition);
      const auto* all = std::get_if<std::vector<Interval>>(&*of_definitions);
      return all == nullptr ? nullptr : &(*all)[k];
    };
    judge(graph.text(outputs[k]), array_of(results[k]), of_kernels.of_forms[k], of_definition,
          verdict);
  }
  return verdict;
}

}  // namespace mote
