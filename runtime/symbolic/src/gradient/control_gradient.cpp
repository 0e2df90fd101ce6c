// SPDX-License-Identifier: Apache-2.0
// The gradients of loops and of case..of, as nodes of the same kind.
//
// The way back of a case..of has a branch for each branch, which computes that one again and then
// its gradient; the gradients of what other branches read are 0. The way back of a loop runs
// through the iterations backwards: each takes from the tape what its gradient reads
// (body_gradient.h). It carries the gradients of the carried values, and adds up those of the
// others.
#include "gradient/control_gradient.h"

#include <algorithm>
#include <utility>

#include "control/splice.h"
#include "fail.h"
#include "gradient/body_gradient.h"
#include "gradient/checkpointed_loop.h"
#include "gradient/plain.h"
#include "gradient/tape.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"

namespace mote {
namespace {

// ---- case..of

/// The branches of the way back of a case..of, and their inputs.
class BranchesBack {
 public:
  BranchesBack(const SymbolicGraph& graph, const NodeInfo& node, const GradientCall& call)
      : graph_(graph), node_(node), call_(call), control_(*node.control) {
    for (std::size_t k = 0; k < call.outputs.size(); ++k)
      if (is_in(call.given, k)) given_.push_back(k);
    for (std::size_t k = 1; k < node.inputs.size(); ++k)
      if (is_in(call.wanted, k)) wanted_.push_back(k);
  }
  const std::vector<std::size_t>& given() const { return given_; }
  const std::vector<std::size_t>& wanted() const { return wanted_; }

  /// A branch of the way back. Its inputs: those of the branch that it reads, then the seeds.
  struct Branch {
    SymbolicGraph graph;
    std::vector<std::size_t> read;
  };
  Branch branch(std::size_t g) const {
    SymbolicGraph back(control_.graphs[g].name() + "_back", graph_.registry());
    const std::vector<std::uint32_t> inputs = input_indices(control_.graphs[g]);
    std::vector<TensorSymbol> own;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      own.push_back(
          back.input("x" + std::to_string(k), control_.graphs[g].symbols()[inputs[k]].form));
    std::vector<TensorSymbol> seeds;
    for (const std::size_t k : given_)
      seeds.push_back(back.input("s" + std::to_string(k), plain(graph_.form(call_.outputs[k]))));
    const std::vector<TensorSymbol> made = splice(back, control_.graphs[g], own);
    const auto first_node = static_cast<std::uint32_t>(back.node_count());
    std::vector<TensorSymbol> of, wrt;
    for (const std::size_t k : given_) of.push_back(made[control_.graphs[g].output_indices()[k]]);
    const std::size_t first = first_input(node_, g);
    const auto is_own = [&](std::size_t k) { return k >= first && k < first + inputs.size(); };
    for (const std::size_t k : wanted_)
      if (is_own(k)) wrt.push_back(own[k - first]);
    const std::vector<TensorSymbol> gradients = gradient_or_zeros(back, of, seeds, wrt);
    std::vector<TensorSymbol> outputs;
    std::size_t next = 0;
    for (const std::size_t k : wanted_)
      outputs.push_back(is_own(k) ? gradients[next++]
                                  : back.zeros(plain(graph_.form(call_.inputs[k]))));
    back.set_outputs(outputs);
    return without_unread(back, first_node, own);
  }

 private:
  /// Leaves out what the outputs do not need: nodes that compute the branch again, and inputs.
  /// Functions from `first_node` on may add to tapes: they stay.
  static Branch without_unread(const SymbolicGraph& back, std::uint32_t first_node,
                               const std::vector<TensorSymbol>& own) {
    std::vector<TensorSymbol> asked = back.outputs();
    std::vector<bool> stays(back.node_count());
    for (std::uint32_t k = first_node; k < back.node_count(); ++k) {
      const NodeInfo& node = back.nodes()[k];
      stays[k] = !node.removed && node.kind == NodeKind::function;
      if (!stays[k]) continue;
      for (const std::uint32_t input : node.inputs)
        if (input != kNoIndex) asked.push_back(back.at(input));
    }
    const std::vector<bool> needed = ancestors(back, asked);
    std::vector<bool> is_read(back.symbol_count());
    for (const TensorSymbol symbol : asked) is_read[back.info(symbol).root] = true;
    for (std::uint32_t k = 0; k < back.node_count(); ++k) {
      stays[k] = stays[k] || needed[k];
      if (!stays[k]) continue;
      for (const std::uint32_t input : back.nodes()[k].inputs)
        if (input != kNoIndex) is_read[back.symbols()[input].root] = true;
    }
    Branch slim{SymbolicGraph(back.name(), back.registry()), {}};
    std::vector<TensorSymbol> symbols(back.symbol_count());
    const std::vector<std::uint32_t> inputs = input_indices(back);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const SymbolInfo& info = back.symbols()[inputs[k]];
      if (k < own.size() && !is_read[inputs[k]]) continue;
      if (k < own.size()) slim.read.push_back(k);
      symbols[inputs[k]] = slim.graph.input(info.name, info.form);
    }
    const std::vector<TensorSymbol> outputs = back.outputs();
    symbols = splice(
        slim.graph, back, std::move(symbols), [&](std::uint32_t node) { return stays[node]; },
        outputs);
    std::vector<TensorSymbol> given;
    for (const TensorSymbol output : outputs) given.push_back(symbols[output.index]);
    slim.graph.set_outputs(given);
    return slim;
  }

  const SymbolicGraph& graph_;
  const NodeInfo& node_;
  const GradientCall& call_;
  const ControlInfo& control_;
  std::vector<std::size_t> given_, wanted_;
};

std::vector<TensorSymbol> branches_gradient(SymbolicGraph& graph, const NodeInfo& node,
                                            const GradientCall& call) {
  const BranchesBack way(graph, node, call);
  std::vector<TensorSymbol> gradients(call.inputs.size());
  if (way.wanted().empty()) return gradients;
  std::vector<TensorSymbol> seeds;
  for (const std::size_t k : way.given()) seeds.push_back(as_plain(graph, call.gradients[k]));
  std::vector<CaseBranch> branches;
  for (std::size_t g = 0; g < node.control->graphs.size(); ++g) {
    BranchesBack::Branch branch = way.branch(g);
    std::vector<TensorSymbol> inputs;
    for (const std::size_t k : branch.read) inputs.push_back(call.inputs[first_input(node, g) + k]);
    inputs.insert(inputs.end(), seeds.begin(), seeds.end());
    branches.emplace_back(std::move(branch.graph), std::move(inputs));
  }
  // If no branch runs, what stands for output k is that output.
  std::vector<TensorSymbol> otherwise;
  for (const std::size_t k : way.wanted()) {
    const auto of = std::ranges::find(way.given(), k - 1);
    const bool passes = k <= call.outputs.size() && of != way.given().end();
    otherwise.push_back(passes ? seeds[static_cast<std::size_t>(of - way.given().begin())]
                               : graph.zeros(plain(graph.form(call.inputs[k]))));
  }
  const NodeSymbol back = graph.add_case_of(call.inputs[0], std::move(branches), otherwise);
  for (std::size_t k = 0; k < way.wanted().size(); ++k)
    gradients[way.wanted()[k]] = graph.output(back, k);
  return gradients;
}

// ---- while

/// Makes the loop keep what its way back needs. Returns the token of its tape at its end.
template <typename Loop>
TensorSymbol record(SymbolicGraph& graph, std::uint32_t index, const Loop& way) {
  const NodeSymbol loop = graph.node_at(index);
  if (way.token()) {
    graph.set_control(loop, way.recorded());
    return graph.output(loop, *way.token());
  }
  std::vector<TensorSymbol> inputs;
  for (const std::uint32_t input : graph.info(loop).inputs) inputs.push_back(graph.at(input));
  const Tensor none(DType::f64, AxisList{});
  none.set({}, 0.0);
  inputs.insert(
      inputs.begin() + static_cast<std::ptrdiff_t>(result_count(*graph.info(loop).control)),
      graph.constant({}, none));
  return graph.grow_control(loop, way.recorded(), inputs).back();
}

/// Adds the way back, whose sums begin with these; none: with 0.
template <typename Loop>
std::vector<TensorSymbol> add_back(SymbolicGraph& graph, std::uint32_t index,
                                   const GradientCall& call, const Loop& way,
                                   std::span<const TensorSymbol> sums) {
  const TensorSymbol token = record(graph, index, way);
  std::vector<TensorSymbol> inputs;
  for (const std::size_t k : way.real())
    inputs.push_back(call.gradients[k] ? as_plain(graph, call.gradients[k])
                                       : graph.zeros(plain(graph.form(call.inputs[k]))));
  for (std::size_t k = 0; k < way.added().size(); ++k)
    inputs.push_back(sums.empty() ? graph.zeros(plain(graph.form(call.inputs[way.added()[k]])))
                                  : sums[k]);
  const TensorSymbol count = graph.tensor({DType::i64, {}});
  graph.call(tape_count(way.tape()), std::vector{token}, std::vector{count});
  inputs.insert(inputs.end(), {count, token});
  for (const std::size_t k : way.rest()) inputs.push_back(call.inputs[k]);
  const NodeSymbol back = graph.add_while(way.back(), inputs);
  std::vector<TensorSymbol> gradients(call.inputs.size());
  for (std::size_t k = 0; k < way.real().size(); ++k)
    if (is_in(call.wanted, way.real()[k])) gradients[way.real()[k]] = graph.output(back, k);
  for (std::size_t k = 0; k < way.added().size(); ++k)
    gradients[way.added()[k]] = graph.output(back, way.real().size() + k);
  return gradients;
}

// The gradient of a node that this thread builds has been tried, with all that the node holds.
thread_local int tried_around = 0;

/// As long as it lives, the gradients of what nodes hold are known to exist.
class TriedScope {
 public:
  TriedScope() { ++tried_around; }
  ~TriedScope() { --tried_around; }
  TriedScope(const TriedScope&) = delete;
  TriedScope& operator=(const TriedScope&) = delete;
};

/// Returns the reason why a loop with checkpoints has no gradient; empty if it may have one.
std::string why_not_checkpointed(const ControlInfo& control, const GradientCall& call) {
  if (control.checkpoints == kKeepEach) return "";
  const SymbolicGraph& body = control.graphs[0];
  const std::optional<std::uint32_t> keep = keep_of(body);
  if (!keep) return "";
  const auto token = std::ranges::find(body.output_indices(), body.nodes()[*keep].outputs[0]);
  if (!is_in(call.given, static_cast<std::size_t>(token - body.output_indices().begin())))
    return "";
  return "it is a loop with checkpoints, whose gradient has none itself "
         "(WhileOptions::checkpoints)";
}

}  // namespace

std::vector<TensorSymbol> loop_gradient(SymbolicGraph& graph, std::uint32_t index,
                                        const GradientCall& call,
                                        std::span<const TensorSymbol> sums) {
  const std::shared_ptr<const ControlInfo> control = graph.nodes()[index].control;
  if (control->checkpoints == kKeepEach)
    return add_back(graph, index, call,
                    BodyGradient(*control, call.given, call.wanted, sums.empty()), sums);
  return add_back(graph, index, call, CheckpointedLoop(control, call.wanted), sums);
}

std::string why_no_control_gradient(GraphBuilder& builder, const NodeInfo& node,
                                    const GradientCall& call) {
  if (node.control->is_loop)
    if (std::string reason = why_not_checkpointed(*node.control, call); !reason.empty())
      return reason;
  // The trial of the node around says it: each graph is tried once, however deep it is.
  if (TrialScope::is_in_one() || tried_around > 0) return "";
  try {
    const TrialScope trial;
    if (node.control->is_loop) {
      if (node.control->checkpoints == kKeepEach)
        const BodyGradient way(*node.control, call.given, call.wanted, true);
      else
        CheckpointedLoop(node.control, call.wanted).back();
    } else {
      const BranchesBack way(builder.graph(), node, call);
      for (std::size_t g = 0; g < node.control->graphs.size(); ++g) way.branch(g);
    }
    return "";
  } catch (const StatusError& e) {
    if (e.status() != MOTE_UNSUPPORTED) throw;
    return e.what();
  }
}

std::vector<TensorSymbol> control_gradient(GraphBuilder& builder, std::uint32_t index,
                                           const GradientCall& call) {
  const TriedScope tried;
  const NodeInfo node = builder.graph().nodes()[index];
  return node.control->is_loop ? loop_gradient(builder.graph(), index, call, {})
                               : branches_gradient(builder.graph(), node, call);
}

}  // namespace mote
