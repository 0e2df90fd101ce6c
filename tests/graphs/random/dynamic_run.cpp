// SPDX-License-Identifier: Apache-2.0
#include "dynamic_run.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "dynamic_call.h"
#include "mote/base/dtype.h"
#include "mote/runtime/infer.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"

namespace mote::test {
namespace {

constexpr std::size_t kNever = 0;  ///< positions count from 1

TensorForm row_major_form(const TensorForm& form) { return {form.dtype, form.shape}; }

Variable viewed(const Variable& x, const ViewStep& step) {
  const AxisList& n = step.numbers;
  switch (step.kind) {
    case ViewKind::slice:
      return x.slice(static_cast<int>(n[0]), n[1], n[2], n[3]);
    case ViewKind::select:
      return x.select(static_cast<int>(n[0]), n[1]);
    case ViewKind::permute:
      return x.permute(n);
    case ViewKind::broadcast:
      return x.broadcast_to(n);
    case ViewKind::reshape:
      break;
  }
  return x.reshape(n);
}

std::vector<VariableRef> references(const std::vector<Variable>& variables) {
  return {variables.begin(), variables.end()};
}

bool is_control(const NodeInfo& node) {
  return node.kind == NodeKind::control || node.kind == NodeKind::function;
}

std::optional<DType> instance_of(const SymbolicGraph& graph, const NodeInfo& node) {
  for (const std::uint32_t output : node.outputs)
    if (output != kNoIndex) return graph.symbols()[output].form->dtype;
  return std::nullopt;
}

}  // namespace

DynamicRun::DynamicRun(const SymbolicGraph& graph, DynamicGraph& g, const DynamicHabits& habits,
                       Counts& counts)
    : graph_(graph),
      g_(g),
      habits_(habits),
      counts_(counts),
      rng_(habits.seed),
      forgets_(habits.seed ^ 0xf0),
      order_(topological_order(graph)),
      variables_(graph.symbol_count()),
      last_read_(graph.symbol_count(), kNever),
      last_write_(graph.symbol_count(), kNever),
      is_kept_(graph.symbol_count()),
      is_output_(graph.symbol_count()),
      is_traced_input_(graph.symbol_count()),
      seen_(graph.output_indices().size()) {
  find_uses();
}

void DynamicRun::find_uses() {
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const NodeInfo& node = graph_.nodes()[order_[k]];
    for (const std::uint32_t input : node.inputs)
      if (input != kNoIndex) last_read_[graph_.symbols()[input].root] = k + 1;
    for (const std::uint32_t output : node.outputs)
      if (output != kNoIndex) last_write_[graph_.symbols()[output].root] = k + 1;
  }
  for (const std::uint32_t output : graph_.output_indices())
    is_output_[graph_.symbols()[output].root] = true;
}

void DynamicRun::give(const std::vector<TensorBinding>& inputs,
                      const std::vector<TensorSymbol>& traced) {
  for (const TensorSymbol symbol : traced) is_traced_input_[symbol.index] = true;
  for (const auto& [symbol, value] : inputs) {
    const bool is_traced =
        is_traced_input_[symbol.index] || (is_real(value.dtype()) && rng_.chance(20));
    variables_[symbol.index] = is_traced ? g_.variable(value) : g_.constant(value);
  }
}

void DynamicRun::keep(const std::vector<TensorSymbol>& symbols) {
  for (const TensorSymbol symbol : symbols) is_kept_[graph_.info(symbol).root] = true;
}

/// Makes a variable whose elements are unlikely numbers, in the layout of the form.
Variable DynamicRun::poisoned(const TensorForm& form) {
  const AxisList all = {form.bytes() / static_cast<std::int64_t>(size_of(form.dtype))};
  const Tensor memory(form.dtype, all);
  if (is_real(form.dtype))
    fill(memory, std::numeric_limits<double>::quiet_NaN());
  else
    fill(memory, form.dtype == DType::boolean ? 1 : integer_range(form.dtype).greatest);
  return g_.constant(Tensor::within(memory, 0, form));
}

const Variable& DynamicRun::variable(std::uint32_t symbol) {
  Variable& made = variables_[symbol];
  if (made) return made;
  const SymbolInfo& info = graph_.symbols()[symbol];
  const TensorSymbol handle = graph_.at(symbol);
  switch (info.kind) {
    case SymbolOrigin::view: {
      const Variable base = variable(info.base);
      return made = viewed(base, graph_.view_step(handle));
    }
    case SymbolOrigin::constant:
      return made = g_.constant(graph_.value(handle));
    case SymbolOrigin::zeros:
      return made = g_.zeros(info.form);
    case SymbolOrigin::tensor:
      return made = poisoned(info.form);
    case SymbolOrigin::input:
      break;
  }
  throw InternalError("dynamic run: an input has no variable");
}

std::vector<Variable> DynamicRun::inputs_of(const NodeInfo& node) {
  std::vector<Variable> inputs;
  for (const std::uint32_t input : node.inputs)
    inputs.push_back(input == kNoIndex ? Variable() : variable(input));
  return inputs;
}

bool DynamicRun::writes_whole(const NodeInfo& node) const {
  return std::ranges::all_of(node.outputs, [&](std::uint32_t output) {
    if (output == kNoIndex) return true;
    const SymbolInfo& info = graph_.symbols()[output];
    return info.kind == SymbolOrigin::tensor && info.producer != kNoIndex;
  });
}

/// Gives the symbol's variable what a node has computed for it.
void DynamicRun::set(std::uint32_t output, const Variable& value) {
  if (output == kNoIndex) return;
  const SymbolInfo& info = graph_.symbols()[output];
  const bool is_whole = info.kind == SymbolOrigin::tensor && info.producer != kNoIndex;
  if (!is_whole) {
    Variable part = variable(output);
    part.assign(value);
    return;
  }
  const TensorForm& form = info.form;
  variables_[output] = value.form().strides == form.strides ? value : g_.convert(value, form);
}

void DynamicRun::forget(std::uint32_t root) {
  for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k)
    if (graph_.symbols()[k].root == root) variables_[k] = Variable();
}

/// True if the node has not all outputs of its command. A dynamic graph computes all of them, and
/// without one of them a kernel may round otherwise: a function of one node computes these alone.
bool DynamicRun::lacks_output(const NodeInfo& node) const {
  if (node.kind != NodeKind::command) return false;
  std::vector<const TensorForm*> forms;
  for (const std::uint32_t input : node.inputs)
    forms.push_back(input == kNoIndex ? nullptr : &*graph_.symbols()[input].form);
  const auto there =
      std::ranges::count_if(node.outputs, [](std::uint32_t output) { return output != kNoIndex; });
  return there < std::ssize(infer(*node.command, forms, instance_of(graph_, node)));
}

/// True for nodes that only a static function can hold.
bool DynamicRun::must_be_static(const NodeInfo& node) const {
  return is_control(node) || (writes_whole(node) && lacks_output(node));
}

/// True if the dtype of the node's instance need not be said.
bool DynamicRun::follows_from_inputs(const NodeInfo& node) const {
  std::vector<const TensorForm*> forms;
  for (const std::uint32_t input : node.inputs)
    forms.push_back(input == kNoIndex ? nullptr : &*graph_.symbols()[input].form);
  try {
    return infer(*node.command, forms)[0].dtype == graph_.symbols()[node.outputs[0]].form->dtype;
  } catch (const StatusError&) {
    return false;
  }
}

/// True if a memoised command may have given one value to a symbol of that form and to an output
/// that was looked at.
bool DynamicRun::may_be_seen(const TensorForm& form) const {
  return g_.options().memo_bytes > 0 &&
         std::ranges::any_of(seen_, [&](const auto& seen) { return seen && seen->form() == form; });
}

/// Writes the result to a variable of its form that nothing needs any more. Returns false if there
/// is none.
bool DynamicRun::rewrite(const NodeInfo& node, const std::vector<Variable>& inputs) {
  if (node.outputs.size() != 1 || !writes_whole(node)) return false;
  if (node.outputs[0] == kNoIndex) return false;
  const TensorForm& form = graph_.symbols()[node.outputs[0]].form;
  if (!form.is_row_major() || !follows_from_inputs(node)) return false;
  const auto is_free = [&](std::uint32_t root) {
    return graph_.symbols()[root].kind == SymbolOrigin::tensor && variables_[root] &&
           !is_kept_[root] && !is_asked(root) && variables_[root].form() == form;
  };
  std::vector<std::uint32_t> candidates;
  for (const std::uint32_t root : unneeded_)
    if (is_free(root)) candidates.push_back(root);
  for (const std::uint32_t input : node.inputs) {
    if (input == kNoIndex || graph_.symbols()[input].root != input) continue;
    if (last_read_[input] == position_ && last_write_[input] < position_ && is_free(input))
      candidates.push_back(input);
  }
  if (candidates.empty()) return false;
  const std::uint32_t root = rng_.pick(candidates);
  const Variable target = variables_[root];
  forget(root);
  std::erase(unneeded_, root);
  const std::vector<VariableRef> given = references(inputs);
  ++counts_["dynamic: written to a variable"];
  // A tensor that was looked at shares the memory, and so does that of an equal command.
  if (inputs[0] == target && !is_output_[root] && !may_be_seen(form) && rng_.chance(50)) {
    try {
      std::vector<VariableRef> others(given.begin() + 1, given.end());
      run_in_place_of(g_, target, *node.command, others);
      ++counts_["dynamic: run in place"];
      variables_[node.outputs[0]] = target;
      return true;
    } catch (const StatusError&) {
      // Something needs the old value, or the op does not allow it.
    }
  }
  run_to_of(g_, target, *node.command, given);
  variables_[node.outputs[0]] = target;
  return true;
}

void DynamicRun::run_command(const NodeInfo& node) {
  const std::vector<Variable> inputs = inputs_of(node);
  const std::vector<VariableRef> given = references(inputs);
  const std::optional<DType> dtype = instance_of(graph_, node);
  if (!inputs.empty() && inputs[0] && inputs.size() <= kMaxInputs &&
      rng_.chance(habits_.rewrites) && rewrite(node, inputs))
    return;
  std::vector<Variable> results;
  const bool is_called = writes_whole(node) ? rng_.chance(habits_.calls) : lacks_output(node);
  if (is_called) {
    results = call(node, inputs);
  } else {
    results = g_.run_all(*node.command, given, dtype);
    if (rng_.chance(habits_.repeats)) results = g_.run_all(*node.command, given, dtype);
  }
  for (std::size_t k = 0; k < node.outputs.size(); ++k)
    if (node.outputs[k] != kNoIndex) set(node.outputs[k], results.at(k));
}

/// Runs the command in a function of the program's.
std::vector<Variable> DynamicRun::call(const NodeInfo& node, const std::vector<Variable>& inputs) {
  std::vector<TensorForm> forms;
  std::vector<bool> is_there;
  for (const std::uint32_t output : node.outputs) {
    is_there.push_back(output != kNoIndex);
    if (output != kNoIndex) forms.push_back(row_major_form(graph_.symbols()[output].form));
  }
  std::vector<Variable> present;
  std::vector<bool> has_input;
  for (const Variable& input : inputs) {
    has_input.push_back(static_cast<bool>(input));
    if (input) present.push_back(input);
  }
  ++counts_["dynamic: called as a function"];
  const auto function = function_of(*node.command, has_input, is_there, instance_of(graph_, node));
  const std::vector<Variable> made = g_.call(function, references(present), forms);
  std::vector<Variable> results(node.outputs.size());
  std::size_t next = 0;
  for (std::size_t k = 0; k < results.size(); ++k)
    if (is_there[k]) results[k] = made.at(next++);
  return results;
}

void DynamicRun::run_node(std::uint32_t index) {
  const NodeInfo& node = graph_.nodes()[index];
  switch (node.kind) {
    case NodeKind::command:
      return run_command(node);
    case NodeKind::copy: {
      const Variable x = variable(node.inputs[0]);
      const SymbolInfo& to = graph_.symbols()[node.outputs[0]];
      const TensorForm& form = to.form;
      const bool is_whole = writes_whole(node);
      if (!is_whole && x.form().dtype == form.dtype && rng_.chance(50)) {
        return set(node.outputs[0], x);
      }
      return set(node.outputs[0], g_.convert(x, is_whole ? form : row_major_form(form)));
    }
    case NodeKind::fill: {
      const TensorForm form = row_major_form(graph_.symbols()[node.outputs[0]].form);
      const Variable value = g_.scalar(form.dtype, node.value).broadcast_to(form.shape);
      return set(node.outputs[0], g_.convert(value, form));
    }
    case NodeKind::function:
    case NodeKind::control:
      break;
  }
  throw InternalError("dynamic run: a node that is to be in a part");
}

bool DynamicRun::is_needed_behind(std::uint32_t root, std::size_t end) const {
  return last_read_[root] > end || is_output_[root] || is_kept_[root];
}

/// True if an output that was not looked at yet has elements of the root.
bool DynamicRun::is_asked(std::uint32_t root) const {
  const std::vector<std::uint32_t>& outputs = graph_.output_indices();
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (graph_.symbols()[outputs[k]].root == root && !seen_[k]) return true;
  return false;
}

/// Looks at outputs that are complete, and frees what nothing needs behind this position.
void DynamicRun::look_and_free(std::size_t begin, std::size_t end) {
  const std::vector<std::uint32_t>& outputs = graph_.output_indices();
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (!seen_[k] && last_write_[graph_.symbols()[outputs[k]].root] <= end &&
        rng_.chance(habits_.looks)) {
      seen_[k] = variable(outputs[k]).value();
      ++counts_["dynamic: looked at early"];
    }
  for (std::uint32_t root = 0; root < graph_.symbol_count(); ++root) {
    if (graph_.symbols()[root].root != root || is_kept_[root]) continue;
    const std::size_t last = std::max(last_read_[root], last_write_[root]);
    if (last > end || last <= begin) continue;
    if (is_asked(root)) continue;
    if (rng_.chance(habits_.frees))
      forget(root);
    else if (variables_[root])
      unneeded_.push_back(root);
  }
  // Others go at random.
  if (!unneeded_.empty() && rng_.chance(habits_.frees)) {
    const std::uint32_t root = rng_.pick(unneeded_);
    forget(root);
    std::erase(unneeded_, root);
  }
}

void DynamicRun::run_some(std::size_t begin, std::size_t end) {
  std::optional<NoGradient> none;
  if (rng_.chance(habits_.no_gradient)) none.emplace();
  if (end - begin > 1 || must_be_static(graph_.nodes()[order_[begin]]))
    run_part(begin, end);
  else
    run_node(order_[begin]);
}

void DynamicRun::run() {
  for (std::size_t k = 0; k < order_.size();) {
    position_ = k + 1;
    std::size_t end = k + 1;
    if (!must_be_static(graph_.nodes()[order_[k]]) && rng_.chance(habits_.checkpoints))
      end = end_of_part(k, false);
    if (end > k + 1) {
      run_checkpoint(k, end);
    } else {
      end = k + 1;
      if (rng_.chance(habits_.parts)) end = std::max(end_of_part(k, true), end);
      run_some(k, end);
    }
    look_and_free(k, end);
    forget_unasked();
    k = end;
  }
}

/// Makes the graph look for steps that no gradient can need, as it does itself in long traces.
void DynamicRun::forget_unasked() {
  constexpr int kOften = 15;
  if (!forgets_.chance(kOften)) return;
  const std::size_t before = forgotten_;
  forgotten_ = g_.statistics().forgotten;
  if (forgotten_ == before) return;
  const DynamicOptions& options = g_.options();
  ++counts_[options.deferred || options.saved_bytes > 0
                ? "dynamic: forgot a step of a graph that defers or drops"
                : "dynamic: forgot a step"];
}

std::vector<Tensor> DynamicRun::outputs() {
  std::vector<Tensor> values;
  for (std::size_t k = 0; k < seen_.size(); ++k) {
    if (!seen_[k]) seen_[k] = variable(graph_.output_indices()[k]).value();
    values.push_back(*seen_[k]);
  }
  return values;
}

}  // namespace mote::test
