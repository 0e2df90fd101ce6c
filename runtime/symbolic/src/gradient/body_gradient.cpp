// SPDX-License-Identifier: Apache-2.0
#include "gradient/body_gradient.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "control/splice.h"
#include "gradient/plain.h"
#include "gradient/reads_data.h"
#include "mote/symbolic/gradient.h"
#include "sequence/steps.h"
#include "written_parts.h"

namespace mote {
namespace {

using Symbols = std::vector<TensorSymbol>;

TensorSymbol integer_one(SymbolicGraph& graph) {
  Tensor value(DType::i64, AxisList{});
  value.set({}, std::int64_t{1});
  return graph.constant({}, value);
}

/// Returns the symbol up to which a view's elements are distinct.
std::uint32_t without_repeats(const SymbolicGraph& graph, std::uint32_t symbol) {
  std::uint32_t distinct = symbol;
  for (std::uint32_t k = symbol; graph.symbols()[k].kind == SymbolOrigin::view;
       k = graph.symbols()[k].base)
    if (graph.view_step(graph.at(k)).kind == ViewKind::broadcast)
      distinct = graph.symbols()[k].base;
  return distinct;
}

}  // namespace

BodyGradient::BodyGradient(const ControlInfo& control, const WideMask& given,
                           const WideMask& wanted, bool sums_are_zero)
    : control_(control), body_(control.graphs[0]), inputs_(input_indices(body_)), joint_(body_) {
  const std::size_t carried = result_count(control_);
  if (const std::optional<std::uint32_t> push = push_of(body_)) {
    const auto token = std::ranges::find(body_.output_indices(), body_.nodes()[*push].outputs[0]);
    push_ = push;
    token_ = static_cast<std::size_t>(token - body_.output_indices().begin());
    tape_ = tape_of(body_.nodes()[*push]);
  } else {
    tape_ = new_tape();
  }
  for (std::size_t k = 0; k < carried; ++k)
    if (is_real(form(k).dtype) && (k != token_ || is_in(given, k))) real_.push_back(k);
  for (std::size_t k = carried; k < input_count(control_, 0); ++k)
    if (is_in(wanted, k) && is_real(form(k).dtype)) added_.push_back(k);
  differentiate(wanted, sums_are_zero);
  find_kept();
  find_rest();
}

/// Adds an input to the joint graph, whose name may have to be another.
TensorSymbol BodyGradient::new_input(const std::string& name, const TensorForm& form) {
  std::string free = name;
  while (joint_.has(free)) free += "_";
  return joint_.input(free, form);
}

/// True for the counter, and for sums and differences of it and integers that the loop does not
/// carry.
bool BodyGradient::differs_in_each_iteration(std::uint32_t symbol) const {
  if (!control_.has_counter) return false;
  if (symbol == inputs_.back()) return true;
  const SymbolInfo& info = body_.symbols()[symbol];
  if (info.producer == kNoIndex) return false;
  const NodeInfo& node = body_.nodes()[info.producer];
  if (node.kind != NodeKind::command) return false;
  const std::string_view op = node.command->definition().name;
  if ((op != "add" && op != "sub") || element_count(info.form) != 1) return false;
  const auto carried = inputs_.begin() + static_cast<std::ptrdiff_t>(result_count(control_));
  const auto stays = [&](std::uint32_t x) {
    return body_.symbols()[x].kind == SymbolOrigin::constant ||
           std::find(carried, inputs_.end() - 1, x) != inputs_.end() - 1;
  };
  const std::uint32_t a = node.inputs[0], b = node.inputs[1];
  return (stays(b) && differs_in_each_iteration(a)) || (stays(a) && differs_in_each_iteration(b));
}

/// True if the body does nothing with carried value k but put a step into it, another one in each
/// iteration.
bool BodyGradient::puts_each_step_once(std::size_t k) const {
  const std::uint32_t value = inputs_[k], next = body_.output_indices()[k];
  const std::uint32_t producer = body_.symbols()[next].producer;
  if (producer == kNoIndex) return false;
  const NodeInfo& put = body_.nodes()[producer];
  if (put.kind != NodeKind::function || !puts_step(*put.function) || put.inputs[0] != value ||
      !differs_in_each_iteration(put.inputs[2]))
    return false;
  const auto is_of = [&](std::uint32_t symbol) {
    return symbol != kNoIndex &&
           (body_.symbols()[symbol].root == value || body_.symbols()[symbol].root == next);
  };
  const std::vector<std::uint32_t>& outputs = body_.output_indices();
  std::ptrdiff_t reads = std::count_if(outputs.begin(), outputs.end(), is_of) - 1;
  for (const NodeInfo& node : body_.nodes())
    if (!node.removed) reads += std::count_if(node.inputs.begin(), node.inputs.end(), is_of);
  return reads == 1;
}

/// Adds the gradient of an iteration to the sum of those of others.
TensorSymbol BodyGradient::sum_with(TensorSymbol sum, TensorSymbol gradient, bool sum_is_zero) {
  const std::optional<StepOf> step = step_alone(joint_, gradient);
  // Nothing but this iteration has a gradient for that step.
  if (sum_is_zero && step && step->t.index < body_.symbol_count() &&
      differs_in_each_iteration(step->t.index))
    return put_step(joint_, sum, step->value, step->t);
  const TensorSymbol of_steps = add_steps_of(joint_, sum, gradient);
  return of_steps ? of_steps : joint_.add("add", {sum, gradient});
}

void BodyGradient::differentiate(const WideMask& wanted, bool sums_are_zero) {
  for (const std::size_t k : real_)
    seeds_.push_back(new_input("g" + std::to_string(k), plain(form(k))));
  for (const std::size_t k : added_)
    sums_.push_back(new_input("sum" + std::to_string(k), plain(form(k))));
  first_node_ = static_cast<std::uint32_t>(joint_.node_count());
  Symbols of, wrt;
  for (const std::size_t k : real_) of.push_back(joint_.at(body_.output_indices()[k]));
  for (const std::size_t k : real_) wrt.push_back(joint_.at(inputs_[k]));
  for (const std::size_t k : added_) wrt.push_back(joint_.at(inputs_[k]));
  gradients_ = gradient_or_zeros(joint_, of, seeds_, wrt);
  for (std::size_t k = 0; k < added_.size(); ++k) {
    TensorSymbol& gradient = gradients_[real_.size() + k];
    gradient = sum_with(sums_[k], gradient, sums_are_zero);
  }
  // No other iteration reads the step that this one has put there, so that its gradient may stay.
  for (std::size_t k = 0; k < real_.size(); ++k)
    if (!is_in(wanted, real_[k]) && puts_each_step_once(real_[k])) gradients_[k] = seeds_[k];
}

/// True if nodes of the way forward write the root.
bool BodyGradient::is_made_forward(std::uint32_t root) const {
  return std::ranges::any_of(written_[root],
                             [&](std::uint32_t node) { return node < first_node_; });
}

/// True if the way back has the symbol without the tape, or computes it from what it has so: what
/// does not change from one iteration to the next, the counter, integers that follow from these,
/// and steps of sequences.
bool BodyGradient::is_at_hand(std::uint32_t symbol) const {
  const std::uint32_t root = joint_.symbols()[symbol].root;
  const SymbolInfo& info = joint_.symbols()[root];
  if (info.kind == SymbolOrigin::constant) return true;
  if (info.kind == SymbolOrigin::input) {
    const auto carried = inputs_.begin() + static_cast<std::ptrdiff_t>(result_count(control_));
    return std::find(inputs_.begin(), carried, root) == carried;
  }
  if (!is_made_forward(root)) return true;
  if (info.producer == kNoIndex) return false;
  if (info.producer == push_) return true;
  const NodeInfo& node = joint_.nodes()[info.producer];
  const bool is_integer =
      node.kind == NodeKind::command && !is_real(info.form->dtype) && element_count(info.form) == 1;
  const bool is_step = node.kind == NodeKind::function && takes_step(*node.function);
  return (is_integer || is_step) && std::ranges::all_of(node.inputs, [&](std::uint32_t input) {
           return input == kNoIndex || is_at_hand(input);
         });
}

/// Makes what computes a symbol that is at hand a part of the way back.
void BodyGradient::compute_again(std::uint32_t symbol) {
  const SymbolInfo& info = joint_.symbols()[joint_.symbols()[symbol].root];
  if (info.producer == kNoIndex || info.producer >= first_node_ || info.producer == push_ ||
      again_[info.producer])
    return;
  again_[info.producer] = true;
  for (const std::uint32_t input : joint_.nodes()[info.producer].inputs)
    if (input != kNoIndex) compute_again(input);
}

void BodyGradient::note_read(std::uint32_t symbol, bool reads_data) {
  if (symbol == kNoIndex) return;
  if (is_at_hand(symbol)) return compute_again(symbol);
  Read& read = read_[joint_.symbols()[symbol].root];
  const std::uint32_t read_one = reads_data ? without_repeats(joint_, symbol) : symbol;
  std::vector<std::uint32_t>& list = reads_data ? read.symbols : read.shapes;
  if (std::ranges::find(list, read_one) == list.end()) list.push_back(read_one);
}

/// Notes what a node of the way back reads: a branch its own inputs, if it runs.
void BodyGradient::note_reads(const NodeInfo& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoIndex) continue;
    note_read(node.inputs[i], reads_data(joint_, node, i));
  }
  std::vector<std::optional<std::uint32_t>> branch(node.inputs.size());
  const auto is_known_forward = [&](std::uint32_t symbol) {
    const SymbolInfo& root = joint_.symbols()[joint_.symbols()[symbol].root];
    return root.form->is_on_host() &&
           (root.kind != SymbolOrigin::tensor || is_made_forward(joint_.symbols()[symbol].root));
  };
  const bool is_case =
      node.kind == NodeKind::control && !node.control->is_loop && is_known_forward(node.inputs[0]);
  for (std::uint32_t g = 0; is_case && g < node.control->graphs.size(); ++g)
    for (std::size_t k = 0; k < input_count(*node.control, g); ++k)
      branch[first_input(node, g) + k] = g;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoIndex) continue;
    const std::uint32_t root = joint_.symbols()[node.inputs[i]].root;
    if (branch[i])
      readers_[root].emplace(node.inputs[0], *branch[i]);
    else
      always_.insert(root);
  }
}

/// Returns when values that only branches read are kept, and appends the decisions.
std::vector<KeptIf> BodyGradient::rules(std::vector<std::uint32_t>& decisions) const {
  std::vector<KeptIf> rules;
  for (std::uint32_t v = 0; v < pushed_.size(); ++v) {
    const std::uint32_t root = joint_.symbols()[pushed_[v]].root;
    const auto readers = readers_.find(root);
    if (readers == readers_.end() || always_.contains(root)) continue;
    for (const auto& [decision, branch] : readers->second) {
      auto at = std::ranges::find(decisions, decision);
      if (at == decisions.end()) at = decisions.insert(at, decision);
      rules.push_back({v, static_cast<std::uint32_t>(at - decisions.begin()), branch});
    }
  }
  return rules;
}

/// Keeps the symbols of a root that are read, or all of it if it has no more elements and each is
/// written.
void BodyGradient::keep(std::uint32_t root, const Read& read, WrittenParts& parts) {
  std::int64_t count = 0;
  for (const std::uint32_t symbol : read.symbols)
    count += element_count(joint_.symbols()[symbol].form);
  const auto is_pushed = [&](std::uint32_t symbol) {
    return std::ranges::find(pushed_, symbol) != pushed_.end();
  };
  const bool is_whole = !read.symbols.empty() &&
                        (is_pushed(root) || (count >= element_count(joint_.symbols()[root].form) &&
                                             parts.covers(root)));
  for (const std::uint32_t symbol : is_whole ? std::vector{root} : read.symbols) {
    if (!is_pushed(symbol)) pushed_.push_back(symbol);
    kept_.push_back(symbol);
  }
  if (is_whole) return;
  for (const std::uint32_t symbol : read.shapes)
    if (std::ranges::find(kept_, symbol) == kept_.end()) only_shapes_.push_back(symbol);
}

void BodyGradient::find_kept() {
  written_ = writers(joint_);
  needed_ = ancestors(joint_, gradients_);
  again_.resize(joint_.node_count());
  if (push_) {
    const NodeInfo& push = body_.nodes()[*push_];
    const std::uint32_t* const values = push.inputs.begin() + 1;
    const std::uint32_t* const decisions =
        values + pushed_count(rules_of(push), push.inputs.size());
    pushed_.assign(values, decisions);
    std::vector<bool> is_ruled(pushed_.size());
    for (const KeptIf& rule : rules_of(push)) {
      is_ruled[rule.value] = true;
      readers_[joint_.symbols()[pushed_[rule.value]].root].emplace(decisions[rule.decision],
                                                                   rule.branch);
    }
    for (std::size_t k = 0; k < pushed_.size(); ++k)
      if (!is_ruled[k]) always_.insert(joint_.symbols()[pushed_[k]].root);
  }
  for (std::uint32_t k = first_node_; k < joint_.node_count(); ++k) {
    const NodeInfo& node = joint_.nodes()[k];
    if (node.removed || !needed_[k]) continue;
    note_reads(node);
  }
  for (const TensorSymbol gradient : gradients_) {
    note_read(gradient.index, true);
    always_.insert(joint_.info(gradient).root);
  }
  WrittenParts parts(joint_);
  for (const auto& [root, read] : read_) keep(root, read, parts);
}

/// True for what is computed again, and for what the gradients need.
bool BodyGradient::is_in_way_back(std::uint32_t node) const {
  return again_[node] || (node >= first_node_ && needed_[node]);
}

void BodyGradient::find_rest() {
  std::vector<bool> is_read(joint_.symbol_count());
  for (const TensorSymbol gradient : gradients_) is_read[joint_.info(gradient).root] = true;
  for (std::uint32_t k = 0; k < joint_.node_count(); ++k) {
    if (!is_in_way_back(k)) continue;
    for (const std::uint32_t input : joint_.nodes()[k].inputs)
      if (input != kNoIndex) is_read[joint_.symbols()[input].root] = true;
  }
  for (std::size_t k = result_count(control_); k < input_count(control_, 0); ++k)
    if (is_read[inputs_[k]]) rest_.push_back(k);
}

std::shared_ptr<ControlInfo> BodyGradient::recorded() const {
  SymbolicGraph body(body_.name(), body_.registry());
  const std::size_t carried = token_ ? *token_ : result_count(control_);
  Symbols symbols(joint_.symbol_count());
  const auto input = [&](std::size_t k) {
    symbols[inputs_[k]] = body.input(body_.symbols()[inputs_[k]].name, form(k));
  };
  for (std::size_t k = 0; k < carried; ++k) input(k);
  std::string name = "tape";
  while (!token_ && body_.has(name)) name += "_";
  if (token_) name = body_.symbols()[inputs_[*token_]].name;
  const TensorSymbol token = body.input(name, {DType::f64, {}});
  for (std::size_t k = token_ ? carried + 1 : carried; k < inputs_.size(); ++k) input(k);
  Symbols asked = joint_.outputs();
  if (token_) asked.erase(asked.begin() + static_cast<std::ptrdiff_t>(*token_));
  const std::size_t outputs = asked.size();
  std::vector<std::uint32_t> decisions;
  std::vector<KeptIf> kept_if = rules(decisions);
  for (const std::uint32_t symbol : pushed_) asked.push_back(joint_.at(symbol));
  for (const std::uint32_t symbol : decisions) asked.push_back(joint_.at(symbol));
  symbols = splice(
      body, joint_, std::move(symbols),
      [&](std::uint32_t node) { return node < first_node_ && node != push_; }, asked);
  Symbols values = {token}, made;
  for (std::size_t k = 0; k < asked.size(); ++k)
    (k < outputs ? made : values).push_back(symbols[asked[k].index]);
  const TensorSymbol next = body.tensor({DType::f64, {}});
  body.call(tape_push(tape_, std::move(kept_if)), values,
            Symbols{next, body.tensor({DType::i64, {}})});
  made.insert(made.end() - 1, next);
  body.set_outputs(made);
  auto control = std::make_shared<ControlInfo>(control_);
  control->graphs[0] = std::move(body);
  return control;
}

/// Takes what is kept off the tape.
void BodyGradient::take_off(SymbolicGraph& back, TensorSymbol token, TensorSymbol position,
                            Symbols& symbols) const {
  std::vector<std::uint32_t> values;
  Symbols taken;
  for (const std::uint32_t symbol : kept_) {
    values.push_back(
        static_cast<std::uint32_t>(std::ranges::find(pushed_, symbol) - pushed_.begin()));
    taken.push_back(symbols[symbol] = back.tensor(joint_.symbols()[symbol].form));
  }
  if (!taken.empty()) back.call(tape_get(tape_, values), Symbols{token, position}, taken);
  for (const std::uint32_t symbol : only_shapes_)
    symbols[symbol] = back.zeros(plain(joint_.symbols()[symbol].form));
}

SymbolicGraph BodyGradient::back() const {
  SymbolicGraph back(body_.name() + "_back", body_.registry());
  Symbols symbols(joint_.symbol_count());
  for (std::size_t k = 0; k < real_.size(); ++k)
    symbols[seeds_[k].index] = back.input("g" + std::to_string(real_[k]), joint_.form(seeds_[k]));
  for (std::size_t k = 0; k < added_.size(); ++k)
    symbols[sums_[k].index] = back.input("sum" + std::to_string(added_[k]), joint_.form(sums_[k]));
  const TensorSymbol left = back.input("left", {DType::i64, {}});
  const TensorSymbol token = back.input("tape", {DType::f64, {}});
  for (const std::size_t k : rest_)
    symbols[inputs_[k]] = back.input("x" + std::to_string(k), form(k));
  const TensorSymbol now = back.add("sub", {left, integer_one(back)});
  if (control_.has_counter) symbols[inputs_.back()] = now;
  if (push_) {
    symbols[body_.nodes()[*push_].outputs[0]] = token;
    symbols[body_.nodes()[*push_].outputs[1]] = now;
  }
  take_off(back, token, now, symbols);
  symbols = splice(
      back, joint_, std::move(symbols), [&](std::uint32_t node) { return is_in_way_back(node); },
      gradients_);
  Symbols outputs;
  for (const TensorSymbol gradient : gradients_) outputs.push_back(symbols[gradient.index]);
  outputs.push_back(now);
  outputs.push_back(left);
  back.set_outputs(outputs);
  return back;
}

}  // namespace mote
