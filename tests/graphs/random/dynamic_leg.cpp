// SPDX-License-Identifier: Apache-2.0
#include "dynamic_leg.h"

#include <algorithm>

#include "dense_results.h"
#include "dynamic_run.h"
#include "exact_numbers.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "shapes_leg.h"

namespace mote::test {
namespace {

using Settings = std::map<std::string, std::string>;

Context& dynamic_context() {
  static Context context({.workers = 2});
  return context;
}

std::int64_t number(const Settings& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? 0 : std::stoll(found->second);
}

DynamicOptions options_of(const Settings& settings) {
  DynamicOptions options;
  options.deferred = number(settings, "deferred") == 1;
  options.memo_bytes = static_cast<std::size_t>(number(settings, "memo"));
  options.saved_bytes = static_cast<std::size_t>(number(settings, "saved"));
  if (const std::int64_t bytes = number(settings, "pending"))
    options.pending_bytes = static_cast<std::size_t>(bytes);
  if (const std::int64_t count = number(settings, "kept"))
    options.kept_graphs = static_cast<std::size_t>(count);
  return options;
}

DynamicHabits habits_of(const Settings& settings) {
  DynamicHabits habits;
  habits.seed = static_cast<std::uint64_t>(number(settings, "seed"));
  Rng rng(habits.seed ^ 0xd4);
  const auto often = [&] { return rng.pick({0, 0, 10, 30, 60}); };
  habits.parts = often();
  habits.checkpoints = often();
  habits.calls = rng.pick({0, 0, 10, 30});
  habits.rewrites = rng.pick({0, 30, 60, 90});
  habits.repeats = rng.pick({0, 0, 30});
  habits.frees = rng.pick({0, 20, 60, 100});
  habits.looks = rng.pick({0, 20, 60, 100});
  if (number(settings, "gradient") == 0) {
    habits.no_gradient = rng.pick({0, 0, 0, 30});
  } else if (number(settings, "exact") == 0) {
    // A function's gradient is summed before it is added to that of other readers.
    habits.parts = habits.calls = 0;
  }
  return habits;
}

bool has_token(const SymbolicGraph& graph) {
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k)
    if (!graph.symbols()[k].removed && is_token(graph, k)) return true;
  return false;
}

/// The symbols that are differentiated, those with respect to which, and a copy of the graph that
/// has the gradient.
struct Question {
  SymbolicGraph graph;
  std::vector<TensorSymbol> of, wrt, gradients;  ///< the first two are of the graph that was given
  std::vector<TensorBinding> seeds;
  std::optional<StatusError> refusal;
};

Question question_of(const SymbolicGraph& graph, const GraphData& data, Rng& rng) {
  Question q{graph, {}, {}, {}, {}, {}};
  const auto has_gradient = [&](TensorSymbol x) {
    return is_real(graph.form(x).dtype) && element_count(graph.form(x)) > 0;
  };
  for (const TensorSymbol output : graph.outputs())
    if (has_gradient(output) && rng.chance(60)) q.of.push_back(output);
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
    const SymbolInfo& info = graph.symbols()[k];
    if (!info.removed && info.kind == SymbolOrigin::input && has_gradient(graph.at(k)) &&
        rng.chance(60))
      q.wrt.push_back(graph.at(k));
  }
  if (q.of.empty() || q.wrt.empty()) return q;
  std::vector<TensorSymbol> of, wrt, seeds;
  for (const TensorSymbol x : q.wrt) wrt.push_back(q.graph.at(x.index));
  for (const TensorSymbol y : q.of) of.push_back(q.graph.at(y.index));
  for (std::size_t k = 0; k < of.size(); ++k) {
    const TensorForm& form = q.graph.form(of[k]);
    const std::string name = "seed of " + std::to_string(k);
    const Tensor value(form.dtype, form.shape);
    fill_tensor(value, name, data);
    seeds.push_back(q.graph.input(name, {form.dtype, form.shape}));
    q.seeds.emplace_back(seeds.back(), value);
  }
  try {
    q.gradients = gradient(q.graph, of, wrt, seeds);
  } catch (const StatusError& error) {
    if (error.status() != MOTE_UNSUPPORTED) throw;
    q.refusal = error;
  }
  return q;
}

/// True if nodes write parts of a tensor. A dynamic graph makes another tensor with such a part,
/// whose gradient has terms in other layouts, for which there are other kernels.
bool writes_parts(const SymbolicGraph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](const NodeInfo& node) {
    return !node.removed && std::ranges::any_of(node.outputs, [&](std::uint32_t output) {
      return output != kNoIndex && graph.symbols()[output].kind != SymbolOrigin::tensor;
    });
  });
}

/// Compares as bit_difference() does, except that zeros are equal: to add 0 makes +0 of -0.
std::optional<std::string> number_difference(const Tensor& expected, const Tensor& got) {
  if (!bit_difference(expected, got)) return std::nullopt;
  const Tensor zero(got.dtype(), {});
  fill(zero, 0);
  const auto plus_zero = [&](const Tensor& x) { return compute(Command("add"), {&x, &zero})[0]; };
  return bit_difference(plus_zero(expected), plus_zero(got));
}

class DynamicCheck {
 public:
  DynamicCheck(const GraphSubject& subject, const Settings& settings, Counts& counts)
      : subject_(subject),
        settings_(settings),
        counts_(counts),
        habits_(habits_of(settings)),
        graph_(with_dense_results(subject.graph())),
        g_(dynamic_context(), options_of(settings)) {}

  std::optional<std::string> run() {
    if (number(settings_, "runs") == 2) run_other_values();
    if (settings_.contains("from")) run_other_shapes();
    const std::vector<TensorBinding> bindings = subject_.bindings_by_index(graph_);
    const bool is_same = graph_.node_count() == subject_.graph().node_count();
    if (auto found =
            check(graph_, bindings,
                  is_same ? subject_.expected() : evaluate(graph_, bindings, graph_.outputs())))
      return found;
    count();
    return left_over();
  }

 private:
  /// The same graph with other values: what it leaves behind must not matter.
  void run_other_values() {
    const GraphData data{subject_.data().fill, subject_.data().seed + 1};
    std::vector<TensorBinding> bindings;
    for (const InputValue& input : input_values(graph_, data))
      bindings.emplace_back(graph_.at(input.symbol), input.value);
    const std::vector<Tensor> expected = evaluate(graph_, bindings, graph_.outputs());
    if (const auto found = check(graph_, bindings, expected))
      throw Error("with other values: " + *found);
  }

  void run_other_shapes() {
    auto other =
        with_other_extent(subject_.graph(), number(settings_, "from"), number(settings_, "to"));
    if (!other) return;
    other = with_dense_results(*other);
    std::vector<TensorBinding> bindings;
    for (const InputValue& input : input_values(*other, subject_.data()))
      bindings.emplace_back(other->at(input.symbol), input.value);
    std::vector<Tensor> expected;
    try {
      expected = evaluate(*other, bindings, other->outputs());
    } catch (const StatusError&) {
      return;  // an op does not take these sizes
    }
    ++counts_["dynamic: other shapes before"];
    if (const auto found = check(*other, bindings, expected))
      throw Error("with other shapes: " + *found);
  }

  std::optional<std::string> check(const SymbolicGraph& graph,
                                   const std::vector<TensorBinding>& bindings,
                                   const std::vector<Tensor>& expected) {
    DynamicRun run(graph, g_, habits_, counts_);
    if (number(settings_, "gradient") == 0) {
      run.give(bindings, {});
      run.run();
      return difference(graph, expected, run.outputs());
    }
    Rng rng(habits_.seed ^ 0x6d);
    const Question q = question_of(graph, subject_.data(), rng);
    run.give(bindings, q.wrt);
    run.keep(q.of);
    run.keep(q.wrt);
    run.run();
    if (auto found = difference(graph, expected, run.outputs())) return found;
    if (q.of.empty() || q.wrt.empty()) return std::nullopt;
    return check_gradient(q, bindings, run, rng);
  }

  static std::optional<std::string> difference(const SymbolicGraph& graph,
                                               const std::vector<Tensor>& expected,
                                               const std::vector<Tensor>& values) {
    for (std::size_t k = 0; k < expected.size(); ++k)
      if (const auto found = bit_difference(expected[k], values[k]))
        return graph.text(graph.outputs()[k]) + *found;
    return std::nullopt;
  }

  std::optional<std::string> check_gradient(const Question& q,
                                            const std::vector<TensorBinding>& bindings,
                                            DynamicRun& run, Rng& rng) {
    std::vector<Variable> of, wrt;
    BackwardOptions options{.is_traced = rng.chance(30)};
    for (const TensorSymbol y : q.of) of.push_back(run.variable(y.index));
    for (const TensorSymbol x : q.wrt) wrt.push_back(run.variable(x.index));
    for (const auto& [symbol, value] : q.seeds) options.seeds.push_back(g_.constant(value));
    std::vector<Variable> got;
    try {
      got = g_.backward(of, wrt, options);
    } catch (const StatusError& error) {
      // Where a tensor is written by parts, it may be unknown that nothing flows through one.
      const bool is_right = q.refusal || writes_parts(q.graph);
      if (!is_right || error.status() != MOTE_UNSUPPORTED) throw;
      return std::nullopt;
    }
    if (q.refusal)
      return "has a gradient, and the symbolic graph: " + std::string(q.refusal->what());
    std::vector<TensorBinding> all = q.seeds;
    for (const auto& [symbol, value] : bindings) all.emplace_back(q.graph.at(symbol.index), value);
    const std::vector<Tensor> expected = evaluate(q.graph, all, q.gradients);
    std::vector<Tensor> values;
    for (const Variable& one : got) values.push_back(one.value());
    const bool is_exact = number(settings_, "exact") == 1;
    if (is_exact ? !is_whole(q, bindings) : writes_parts(q.graph)) return std::nullopt;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const auto found = is_exact ? number_difference(expected[k], values[k])
                                  : bit_difference(expected[k], values[k]);
      if (found)
        return "the gradient with respect to " + q.graph.text(q.graph.at(q.wrt[k].index)) + *found;
    }
    ++counts_[is_exact ? "dynamic: exact gradients" : "dynamic: gradients"];
    return std::nullopt;
  }

  /// True if all values are integers that are exact: a pool of nothing is infinite, for one.
  static bool is_whole(const Question& q, const std::vector<TensorBinding>& bindings) {
    std::vector<TensorBinding> all = q.seeds;
    for (const auto& [symbol, value] : bindings) all.emplace_back(q.graph.at(symbol.index), value);
    try {
      for (const Tensor& value : evaluate(q.graph, all, readable_symbols(q.graph)))
        check_whole(value, "a node");
    } catch (const Undecided&) {
      return false;
    }
    return true;
  }

  void count() {
    const DynamicStatistics now = g_.statistics();
    if (now.memo_hits > 0) ++counts_["dynamic: found an equal command"];
    if (now.computed_again > 0) ++counts_["dynamic: computed a step again"];
    if (g_.options().deferred) ++counts_["dynamic: deferred"];
  }

  /// When all variables are gone, so is everything else.
  std::optional<std::string> left_over() {
    g_.trim();
    const DynamicStatistics left = g_.statistics();
    if (left.variables + left.values + left.steps + left.pending_steps + left.variable_bytes +
            left.saved_bytes + left.memo_bytes ==
        0)
      return std::nullopt;
    return "when all variables are gone, this is left:\n" + to_text(left);
  }

  const GraphSubject& subject_;
  const Settings& settings_;
  Counts& counts_;
  DynamicHabits habits_;
  const SymbolicGraph graph_;  ///< the subject's, as a dynamic graph computes it
  DynamicGraph g_;
};

std::string some_settings(Rng& rng, bool may_merge) {
  std::string leg = rng.chance(50) ? " deferred=1" : " deferred=0";
  // Equal commands that are one have the sum of their gradients.
  leg += " memo=" + std::to_string(may_merge ? rng.pick({0, 0, 2000, 1000000}) : 0);
  leg += " pending=" + std::to_string(rng.pick({0, 0, 400, 4000}));
  leg += " saved=" + std::to_string(rng.pick({0, 0, 200, 2000}));
  leg += " kept=" + std::to_string(rng.pick({0, 0, 1, 3}));
  leg += " runs=" + std::to_string(rng.pick({1, 1, 1, 2}));
  if (rng.chance(25))
    leg += " from=" + std::to_string(1 + rng.below(6)) + " to=" + std::to_string(1 + rng.below(6));
  return leg + " seed=" + std::to_string(rng.below(1000000));
}

}  // namespace

std::string some_dynamic_leg(Rng& rng) {
  return rng.chance(50) ? "dynamic gradient=1" + some_settings(rng, false)
                        : "dynamic gradient=0" + some_settings(rng, true);
}

std::string some_exact_dynamic_leg(Rng& rng) {
  return "dynamic gradient=1 exact=1" + some_settings(rng, true);
}

std::optional<std::string> check_dynamic(const GraphSubject& subject, const Settings& settings,
                                         Counts& counts) {
  if (has_token(subject.graph())) return std::nullopt;  // loops whose tape is shared
  return DynamicCheck(subject, settings, counts).run();
}

std::vector<std::string> counted_by_dynamic_leg() {
  return {"dynamic: deferred",
          "dynamic: static function",
          "dynamic: checkpoint",
          "dynamic: called as a function",
          "dynamic: written to a variable",
          "dynamic: run in place",
          "dynamic: looked at early",
          "dynamic: forgot a step",
          "dynamic: forgot a step of a graph that defers or drops",
          "dynamic: found an equal command",
          "dynamic: computed a step again",
          "dynamic: other shapes before",
          "dynamic: gradients",
          "dynamic: exact gradients"};
}

}  // namespace mote::test
