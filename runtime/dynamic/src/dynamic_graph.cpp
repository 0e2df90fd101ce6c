// SPDX-License-Identifier: Apache-2.0
// The public functions of dynamic graphs: they take the lock, check what they are given, and name
// values.
#include "mote/dynamic/dynamic_graph.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fail.h"
#include "state.h"

namespace mote {

using trace::fail;
using trace::Lock;
using trace::Ref;
using trace::Results;
using trace::Value;

namespace {

/// Returns variables of the values; none where an output is left out.
std::vector<Variable> give_all(trace::State& state, std::span<const Ref<Value>> results) {
  std::vector<Variable> variables;
  for (const Ref<Value>& result : results)
    variables.push_back(result ? state.give(result) : Variable());
  return variables;
}

std::vector<Value*> operands(trace::State& state, std::span<const VariableRef> inputs,
                             const char* what) {
  std::vector<Value*> values;
  for (const VariableRef& input : inputs) values.push_back(state.operand(input.get(), what));
  return values;
}

void check_same_form(const Value& value, const Value& as, const char* what) {
  if (value.form->form.dtype == as.form->form.dtype &&
      value.form->form.shape == as.form->form.shape)
    return;
  fail(std::string("backward: ") + what + " must be " + to_string(as.form->form) + ", got " +
       to_string(value.form->form));
}

/// Returns the graph of the first variable.
DynamicGraph graph_of(const Command& command, std::initializer_list<VariableRef> inputs) {
  for (const VariableRef& input : inputs)
    if (input.get() != nullptr) return input.get()->graph();
  fail(std::string(command.definition().name) + ": no input is a variable");
}

}  // namespace

Variable run(const Command& command, std::initializer_list<VariableRef> inputs) {
  return graph_of(command, inputs).run(command, inputs);
}
std::vector<Variable> run_all(const Command& command, std::initializer_list<VariableRef> inputs) {
  return graph_of(command, inputs).run_all(command, std::span(inputs.begin(), inputs.size()));
}

DynamicGraph::DynamicGraph(Context& context, const DynamicOptions& options)
    : state_(new trace::State(context, options)) {
  ++state_->graph_handles;
}
DynamicGraph::DynamicGraph(trace::State* state) noexcept : state_(state) { state_->retain_graph(); }
DynamicGraph::DynamicGraph(const DynamicGraph& other) noexcept : DynamicGraph(other.state_) {}
DynamicGraph& DynamicGraph::operator=(const DynamicGraph& other) noexcept {
  other.state_->retain_graph();
  std::exchange(state_, other.state_)->release_graph();
  return *this;
}
DynamicGraph::~DynamicGraph() { state_->release_graph(); }

Context& DynamicGraph::context() const { return *state_->context; }
const DynamicOptions& DynamicGraph::options() const { return state_->options; }

Variable DynamicGraph::variable(const Tensor& value) {
  if (!is_real(value.dtype()))
    fail("only a tensor of reals has a gradient, got " + describe(value) + "; constant() takes it");
  const Lock lock(state_->mutex);
  Variable made =
      state_->give(state_->make_value(state_->kernels.form_of(value.form()), value, true));
  made.handle_->is_parameter = true;
  return made;
}

Variable DynamicGraph::constant(const Tensor& value) {
  const Lock lock(state_->mutex);
  return state_->give(state_->make_value(state_->kernels.form_of(value.form()), value, false));
}

Variable DynamicGraph::scalar(DType dtype, double value) {
  const Lock lock(state_->mutex);
  return state_->give(state_->scalar(TensorForm(dtype, {}), value));
}

Variable DynamicGraph::scalar(const Variable& like, double value) {
  const Lock lock(state_->mutex);
  return state_->give(state_->scalar(state_->operand(&like, "scalar")->form->form, value));
}

Variable DynamicGraph::zeros(const TensorForm& form) {
  const Lock lock(state_->mutex);
  const Tensor value = state_->filled(*state_->kernels.form_of(form), 0);
  return state_->give(state_->make_value(state_->kernels.form_of(value.form()), value, false));
}

Variable DynamicGraph::run(const Command& command, std::initializer_list<VariableRef> inputs,
                           std::optional<DType> dtype) {
  constexpr std::size_t kFew = 8;
  if (inputs.size() > kFew)
    return run_all(command, std::span(inputs.begin(), inputs.size()), dtype).at(0);
  Lock lock(state_->mutex);
  std::array<Value*, kFew> few;
  std::ranges::transform(inputs, few.begin(), [&](const VariableRef& input) {
    return state_->operand(input.get(), command.definition().name);
  });
  const trace::CommandResults results =
      state_->run(lock, command, std::span(few.data(), inputs.size()), dtype);
  return results[0] ? state_->give(results[0]) : Variable();
}

Variable DynamicGraph::run(std::string_view command, std::initializer_list<VariableRef> inputs,
                           std::optional<DType> dtype) {
  return run(parse_command(command), inputs, dtype);
}

std::vector<Variable> DynamicGraph::run_all(const Command& command,
                                            std::span<const VariableRef> inputs,
                                            std::optional<DType> dtype) {
  Lock lock(state_->mutex);
  const std::vector<Value*> values = operands(*state_, inputs, command.definition().name);
  return give_all(*state_, state_->run(lock, command, values, dtype).all());
}

void DynamicGraph::run_to(const Variable& output, const Command& command,
                          std::initializer_list<VariableRef> inputs) {
  run_to(output, command, std::span(inputs.begin(), inputs.size()));
}

void DynamicGraph::run_to(const Variable& output, const Command& command,
                          std::span<const VariableRef> inputs) {
  Lock lock(state_->mutex);
  state_->operand(&output, "run_to");
  const std::vector<Value*> values = operands(*state_, inputs, command.definition().name);
  state_->run_to(lock, *output.handle_, command, values);
}

void DynamicGraph::run_in_place(const Variable& x, const Command& command,
                                std::initializer_list<VariableRef> others) {
  run_in_place(x, command, std::span(others.begin(), others.size()));
}

void DynamicGraph::run_in_place(const Variable& x, const Command& command,
                                std::span<const VariableRef> others) {
  Lock lock(state_->mutex);
  state_->forget_on_the_way();
  const Ref<Value> old(state_->operand(&x, "run_in_place"));
  std::vector<Value*> values{old.get()};
  for (const VariableRef& other : others)
    values.push_back(state_->operand(other.get(), command.definition().name));
  state_->forget_previous(*x.handle_);
  const Ref<Value> made = state_->run_over(*x.handle_, command, values, 0, true);
  state_->set_value(*x.handle_, made);
  state_->forget_old(*x.handle_, old);
}

Variable DynamicGraph::convert(const Variable& x, const TensorForm& form) {
  const Lock lock(state_->mutex);
  state_->forget_on_the_way();
  Value& value = *state_->operand(&x, "convert");
  if (value.form->form.shape != form.shape)
    fail("convert: the shape must be that of " + to_string(value.form->form) + ", got " +
         to_string(form));
  return state_->give(state_->convert(value, state_->kernels.form_of(form)));
}

std::vector<Variable> DynamicGraph::call(const std::shared_ptr<const NamedFunction>& function,
                                         std::span<const VariableRef> inputs,
                                         std::span<const TensorForm> outputs) {
  if (function == nullptr || !function->run) fail("call: there is no function");
  Lock lock(state_->mutex);
  state_->forget_on_the_way();
  const std::vector<Value*> values = operands(*state_, inputs, function->name.c_str());
  std::vector<trace::SharedForm> forms;
  for (const TensorForm& form : outputs) forms.push_back(state_->kernels.form_of(form));
  return give_all(*state_, state_->run_function(lock, function, values, forms));
}

std::vector<Variable> DynamicGraph::backward(std::span<const Variable> of,
                                             std::span<const Variable> wrt,
                                             const BackwardOptions& options) {
  if (!options.seeds.empty() && options.seeds.size() != of.size())
    fail("backward: there must be a seed for each of " + std::to_string(of.size()) +
         " variables, got " + std::to_string(options.seeds.size()));
  if (!options.into.empty() && options.into.size() != wrt.size())
    fail("backward: there must be a variable to add to for each of " + std::to_string(wrt.size()) +
         ", got " + std::to_string(options.into.size()));
  Lock lock(state_->mutex);
  std::vector<Ref<Value>> stay;
  const auto values_of = [&](std::span<const Variable> variables) {
    std::vector<Value*> values;
    for (const Variable& variable : variables) {
      values.push_back(state_->operand(&variable, "backward"));
      stay.emplace_back(values.back());
    }
    return values;
  };
  const std::vector<Value*> from = values_of(of);
  const std::vector<Value*> to = values_of(wrt);
  if (to.empty()) return {};
  std::vector<Value*> seeds(from.size());
  for (std::size_t k = 0; k < options.seeds.size(); ++k) {
    if (!options.seeds[k]) continue;
    seeds[k] = state_->operand(&options.seeds[k], "backward");
    check_same_form(*seeds[k], *from[k], "a seed");
  }
  for (const Value* value : from)
    if (!value->form->is_real)
      fail("backward: a tensor of " + to_string(value->form->form) + " has no gradient");
  for (std::size_t k = 0; k < to.size(); ++k) {
    if (!to[k]->is_traced)
      fail("backward: variable " + std::to_string(k) + " of those that a gradient is asked for, " +
           to_string(to[k]->form->form) + ", is a constant, or was computed from constants");
    if (options.into.empty() || !options.into[k]) continue;
    check_same_form(*state_->operand(&options.into[k], "backward"), *to[k],
                    "what a gradient is added to");
  }
  const Results results = state_->backward(lock, from, to, seeds, options.is_traced);
  std::vector<Variable> gradients = give_all(*state_, results);
  std::vector<trace::Handle*> sums;
  for (const Variable& sum : options.into) sums.push_back(sum.handle_);
  state_->add_to(lock, sums, results);
  for (std::size_t k = 0; k < options.into.size(); ++k)
    if (options.into[k]) gradients[k] = options.into[k];
  return gradients;
}

std::vector<Variable> DynamicGraph::backward(std::initializer_list<Variable> of,
                                             std::initializer_list<Variable> wrt,
                                             const BackwardOptions& options) {
  return backward(std::span(of.begin(), of.size()), std::span(wrt.begin(), wrt.size()), options);
}

std::vector<Variable> DynamicGraph::checkpoint(
    const std::function<std::vector<Variable>(std::span<const Variable>)>& function,
    std::span<const Variable> inputs) {
  if (!function) fail("checkpoint: there is no function");
  std::uint64_t first = 0;
  {
    const Lock lock(state_->mutex);
    first = state_->new_id();
  }
  std::vector<Variable> outputs = function(inputs);
  const Lock lock(state_->mutex);
  std::vector<Ref<Value>> kept;
  for (const Variable& output : outputs)
    if (output) kept.emplace_back(state_->operand(&output, "checkpoint"));
  state_->drop_between(first, kept);
  return outputs;
}

bool DynamicGraph::has_effect(const Variable& x, const Variable& y) const {
  const Lock lock(state_->mutex);
  return state_->depends(*state_->operand(&y, "has_effect"), *state_->operand(&x, "has_effect"));
}

void DynamicGraph::finish() {
  Lock lock(state_->mutex);
  state_->finish(lock);
}

DynamicStatistics DynamicGraph::statistics() const {
  const Lock lock(state_->mutex);
  return state_->statistics();
}

std::vector<KeptMemory> DynamicGraph::memory() const {
  const Lock lock(state_->mutex);
  return state_->kept_memory();
}

void DynamicGraph::trim() {
  {
    const Lock lock(state_->mutex);
    state_->forget_unasked();
    state_->memo.clear();
    state_->graphs.clear();
  }  // the graphs end, and what they had is free
  const Lock lock(state_->mutex);
  state_->scalars.clear();
  state_->kernels.clear();
  state_->pool->trim();
  for (const auto& queue : state_->queues) queue->trim();
}

}  // namespace mote
