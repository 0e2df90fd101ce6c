// SPDX-License-Identifier: Apache-2.0
// The gradients of loops and of case..of, as nodes of the same kind.
//
// The way back of a case..of has a branch for each branch, which computes that one again and then
// its gradient; the gradients of what other branches read are 0. The way back of a loop runs
// through the iterations backwards: each takes from the tape what the iteration began with,
// computes it again, and then its gradient. It carries the gradients of the carried values, and
// adds up those of the others.
#include "gradient/control_gradient.h"

#include <algorithm>
#include <utility>

#include "control/splice.h"
#include "fail.h"
#include "gradient/tape.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

TensorForm plain(const TensorForm& form) {
  TensorForm made(form.dtype, form.shape);
  made.device = form.device;
  return made;
}

/// Returns the symbol, or a copy of it, in row-major order and in memory of its own.
TensorSymbol as_plain(SymbolicGraph& graph, TensorSymbol x) {
  const TensorForm form = graph.form(x);
  return form == plain(form) ? x : graph.convert(x, plain(form));
}

bool is_real_symbol(const SymbolicGraph& graph, std::uint32_t symbol) {
  return is_real(graph.symbols()[symbol].form->dtype);
}

/// Appends the gradient of a graph's outputs, whose seeds become inputs. Returns that for each of
/// `wrt`, in row-major order.
std::vector<TensorSymbol> with_seeds(SymbolicGraph& graph, std::span<const TensorSymbol> of,
                                     std::span<const TensorSymbol> seeds,
                                     std::span<const TensorSymbol> wrt) {
  std::vector<TensorSymbol> gradients;
  if (of.empty())
    for (const TensorSymbol x : wrt) gradients.push_back(graph.zeros(plain(graph.form(x))));
  else
    gradients = gradient(graph, of, wrt, seeds);
  for (TensorSymbol& x : gradients) x = as_plain(graph, x);
  return gradients;
}

// ---- case..of

/// What the way back of a case..of computes, and its inputs.
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

  /// Branch g: its own inputs, then the seeds.
  SymbolicGraph branch(std::size_t g) const {
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
    std::vector<TensorSymbol> of, wrt;
    for (const std::size_t k : given_) of.push_back(made[control_.graphs[g].output_indices()[k]]);
    const std::size_t first = first_input(node_, g);
    const auto is_own = [&](std::size_t k) { return k >= first && k < first + inputs.size(); };
    for (const std::size_t k : wanted_)
      if (is_own(k)) wrt.push_back(own[k - first]);
    const std::vector<TensorSymbol> gradients = with_seeds(back, of, seeds, wrt);
    std::vector<TensorSymbol> outputs;
    std::size_t next = 0;
    for (const std::size_t k : wanted_)
      outputs.push_back(is_own(k) ? gradients[next++]
                                  : back.zeros(plain(graph_.form(call_.inputs[k]))));
    back.set_outputs(outputs);
    return back;
  }

 private:
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
    const std::size_t first = first_input(node, g);
    std::vector<TensorSymbol> inputs(
        call.inputs.begin() + static_cast<std::ptrdiff_t>(first),
        call.inputs.begin() + static_cast<std::ptrdiff_t>(first + input_count(*node.control, g)));
    inputs.insert(inputs.end(), seeds.begin(), seeds.end());
    branches.emplace_back(way.branch(g), std::move(inputs));
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

/// The body of the way back of a loop.
class LoopBack {
 public:
  LoopBack(const NodeInfo& node, TensorMask wanted)
      : control_(*node.control), body_(control_.graphs[0]), inputs_(input_indices(body_)) {
    const std::size_t carried = result_count(control_);
    for (std::size_t k = 0; k < carried; ++k)
      if (is_real_symbol(body_, inputs_[k])) real_.push_back(k);
    for (std::size_t k = carried; k < input_count(control_, 0); ++k)
      if (is_in(wanted, k) && is_real_symbol(body_, inputs_[k])) added_.push_back(k);
  }

  const std::vector<std::size_t>& real() const { return real_; }    ///< of the carried inputs
  const std::vector<std::size_t>& added() const { return added_; }  ///< of the other inputs

  /// Its inputs: the gradients of real(), the sums of added(), the number of iterations left, and
  /// what the loop does not carry over.
  SymbolicGraph body(const std::shared_ptr<Tape>& tape) const {
    SymbolicGraph back(body_.name() + "_back", body_.registry());
    const std::size_t carried = result_count(control_);
    const auto form = [&](std::size_t k) -> const TensorForm& {
      return body_.symbols()[inputs_[k]].form;
    };
    std::vector<TensorSymbol> seeds, sums, given(inputs_.size());
    for (const std::size_t k : real_)
      seeds.push_back(back.input("g" + std::to_string(k), plain(form(k))));
    for (const std::size_t k : added_)
      sums.push_back(back.input("sum" + std::to_string(k), plain(form(k))));
    const TensorSymbol left = back.input("left", {DType::i64, {}});
    for (std::size_t k = carried; k < input_count(control_, 0); ++k)
      given[k] = back.input("x" + std::to_string(k), form(k));
    const TensorSymbol now = back.add("sub", {left, one(back)});
    if (control_.has_counter) given.back() = now;
    std::vector<TensorSymbol> begun;
    for (std::size_t k = 0; k < carried; ++k) begun.push_back(given[k] = back.tensor(form(k)));
    if (carried > 0) back.call(tape_pop(tape), std::vector<TensorSymbol>{left}, begun);
    const std::vector<TensorSymbol> made = splice(back, body_, given);
    std::vector<TensorSymbol> of, wrt;
    for (const std::size_t k : real_) of.push_back(made[body_.output_indices()[k]]);
    for (const std::size_t k : real_) wrt.push_back(given[k]);
    for (const std::size_t k : added_) wrt.push_back(given[k]);
    std::vector<TensorSymbol> outputs = with_seeds(back, of, seeds, wrt);
    for (std::size_t k = 0; k < added_.size(); ++k) {
      TensorSymbol& gradient = outputs[real_.size() + k];
      gradient = back.add("add", {sums[k], gradient});
    }
    outputs.push_back(now);
    outputs.push_back(left);
    back.set_outputs(outputs);
    return back;
  }

 private:
  static TensorSymbol one(SymbolicGraph& graph) {
    Tensor value(DType::i64, AxisList{});
    value.set({}, std::int64_t{1});
    return graph.constant({}, value);
  }

  const ControlInfo& control_;
  const SymbolicGraph& body_;
  std::vector<std::uint32_t> inputs_;
  std::vector<std::size_t> real_, added_;
};

/// Makes the loop keep what its iterations begin with, unless it does.
std::shared_ptr<Tape> record(SymbolicGraph& graph, std::uint32_t index) {
  const std::shared_ptr<const ControlInfo> control = graph.nodes()[index].control;
  const std::shared_ptr<Tape> tape = tape_of(control->graphs[0]);
  if (tape.use_count() > 1) return tape;
  auto recorded = std::make_shared<ControlInfo>(*control);
  SymbolicGraph& body = recorded->graphs[0];
  std::vector<TensorSymbol> kept;
  for (const std::uint32_t input : input_indices(body)) {
    if (kept.size() == result_count(*control)) break;
    kept.push_back(body.at(input));
  }
  body.call(tape_push(tape), kept, {});
  graph.set_control(graph.node_at(index), std::move(recorded));
  return tape;
}

std::vector<TensorSymbol> loop_gradient(GraphBuilder& builder, std::uint32_t index,
                                        const GradientCall& call) {
  SymbolicGraph& graph = builder.graph();
  const NodeInfo node = graph.nodes()[index];
  const LoopBack way(node, call.wanted);
  const std::shared_ptr<Tape> tape = record(graph, index);
  const std::size_t carried = call.outputs.size();
  std::vector<TensorSymbol> inputs;
  for (const std::size_t k : way.real())
    inputs.push_back(call.gradients[k] ? as_plain(graph, call.gradients[k])
                                       : graph.zeros(plain(graph.form(call.inputs[k]))));
  for (const std::size_t k : way.added())
    inputs.push_back(graph.zeros(plain(graph.form(call.inputs[k]))));
  const TensorSymbol count = graph.tensor({DType::i64, {}});
  graph.call(tape_count(tape), std::vector<TensorSymbol>{call.outputs[0]}, std::vector{count});
  inputs.push_back(count);
  inputs.insert(inputs.end(), call.inputs.begin() + static_cast<std::ptrdiff_t>(carried),
                call.inputs.end());
  const NodeSymbol back = graph.add_while(way.body(tape), inputs);
  std::vector<TensorSymbol> gradients(call.inputs.size());
  for (std::size_t k = 0; k < way.real().size(); ++k)
    if (is_in(call.wanted, way.real()[k])) gradients[way.real()[k]] = graph.output(back, k);
  for (std::size_t k = 0; k < way.added().size(); ++k)
    gradients[way.added()[k]] = graph.output(back, way.real().size() + k);
  return gradients;
}

}  // namespace

std::string why_no_control_gradient(GraphBuilder& builder, const NodeInfo& node,
                                    const GradientCall& call) {
  constexpr std::size_t kMaxInputs = 64;  // TensorMask
  if (node.inputs.size() > kMaxInputs || node.outputs.size() > kMaxInputs)
    return "it has more than " + std::to_string(kMaxInputs) + " inputs or outputs";
  try {
    if (node.control->is_loop) {
      LoopBack(node, call.wanted).body(tape_of(node.control->graphs[0]));
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
  const NodeInfo node = builder.graph().nodes()[index];
  return node.control->is_loop ? loop_gradient(builder, index, call)
                               : branches_gradient(builder.graph(), node, call);
}

}  // namespace mote
