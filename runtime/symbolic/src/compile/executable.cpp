// SPDX-License-Identifier: Apache-2.0
// A compiled graph: tensors are bound to it, it runs, and its outputs are looked at. Inputs of
// other shapes are compiled for when they run, and what was compiled is kept by shape.
#include "compile/executable.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "device_index.h"
#include "fail.h"
#include "tensor/has_form.h"

namespace mote {
namespace {

std::vector<TensorSymbol> symbols_in(const SymbolicGraph& graph,
                                     const std::vector<TensorSymbol>& symbols) {
  std::vector<TensorSymbol> there;
  for (const TensorSymbol symbol : symbols) there.push_back(graph.at(symbol.index));
  return there;
}

std::vector<std::pair<std::uint32_t, SharedForm>> inputs_of(const SymbolicGraph& graph) {
  std::vector<std::pair<std::uint32_t, SharedForm>> inputs;
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k)
    if (graph.symbols()[k].kind == SymbolOrigin::input)
      inputs.emplace_back(k, graph.symbols()[k].form);
  return inputs;
}

/// Returns those of the inputs whose shapes are not known.
std::vector<std::uint32_t> unknown_among(
    const SymbolicGraph& graph, const std::vector<std::pair<std::uint32_t, SharedForm>>& inputs) {
  std::vector<std::uint32_t> unknown;
  for (const auto& [k, form] : inputs)
    if (!graph.symbols()[k].removed && !graph.symbols()[k].has_form) unknown.push_back(k);
  return unknown;
}

/// Returns the graph with its inputs at their largest forms.
SymbolicGraph at_largest(const SymbolicGraph& graph,
                         const std::vector<std::pair<TensorSymbol, TensorForm>>& largest) {
  SymbolicGraph complete(graph);
  std::vector<std::pair<TensorSymbol, TensorForm>> changed;
  for (const auto& [symbol, form] : largest) {
    const SymbolInfo& info = graph.info(symbol);
    if (info.kind != SymbolOrigin::input)
      fail_graph("compile: " + graph.text(symbol) + " has a largest form and is no input");
    if (info.form->dtype != form.dtype)
      fail_graph("compile: the largest form of " + graph.text(symbol) + " must be of " +
                 std::string(name(info.form->dtype)) + ", got " + to_string(form));
    const auto is_it = [&](const auto& other) { return other.first == symbol; };
    if (const auto first = std::ranges::find_if(largest, is_it); first->second != form)
      fail_graph("compile: " + graph.text(symbol) +
                 " has two largest forms: " + to_string(first->second) + " and " + to_string(form));
    if (!info.has_form)
      complete.set_form(complete.at(symbol.index), form);
    else
      changed.emplace_back(complete.at(symbol.index), form);
  }
  if (const auto left = unknown_among(complete, inputs_of(complete)); !left.empty())
    fail_graph("compile: " + graph.text(graph.at(left.front())) +
               " has no shape and no largest one");
  return changed.empty() ? complete : complete.with_forms(changed);
}

}  // namespace

void CompiledGraph::bind(std::uint32_t symbol, const Tensor& tensor) {
  const GraphTensor to = bindable.at(symbol).tensor;
  if (to != GraphTensor{}) graph.bind(to, tensor);
}

void Executable::State::refuse(std::uint32_t symbol, const std::string& what) const {
  fail_graph("executable of " + source.name() + ": " + source.text(symbol) + what);
}

Executable::State::State(const SymbolicGraph& graph, const CompileOptions& with, Context& where)
    : identity(graph.identity()),
      source(graph),
      inputs(inputs_of(graph)),
      unknown(unknown_among(graph, inputs)),
      options(with),
      context(&where) {
  for (const TensorSymbol symbol : with.outputs) graph.info(symbol);
  for (const TensorSymbol symbol : with.bound) graph.info(symbol);
  bound.reserve(graph.symbol_count(), inputs.size() + with.bound.size());
  if (!with.largest.empty()) {
    const SymbolicGraph complete = at_largest(graph, with.largest);
    source = PackedGraph(complete);
    inputs = inputs_of(complete);
    unknown.clear();
    compile_for(complete);
  } else if (unknown.empty()) {
    compile_for(graph);
  } else {
    known = plan_known_shapes(graph, options, *context);
  }
}

/// Compiles the graph, whose symbols have the indices of the source's, and makes it the current
/// one.
void Executable::State::compile_for(const SymbolicGraph& graph) {
  std::vector<SharedForm> forms;
  forms.reserve(inputs.size());
  for (const auto& [index, form] : inputs) forms.push_back(graph.symbols()[index].form);
  CompileOptions with = options;
  with.outputs = symbols_in(graph, options.outputs);
  with.bound = symbols_in(graph, options.bound);
  std::optional<LargestShapes>* of_largest = options.largest.empty() ? nullptr : &largest;
  std::unique_ptr<CompiledGraph> compiled = compile_shapes(graph, with, *context, of_largest);
  shapes.reserve(shapes.size() + 1);
  std::unique_ptr<CompiledGraph> evicted;  // its end may wait for runs, and cancel() must not
  if (shapes.size() >= std::max<std::size_t>(options.kept_shapes, 1)) {
    const auto oldest = std::ranges::min_element(shapes, {}, &Shapes::last_run);
    evicted = std::move(oldest->compiled);
    shapes.erase(oldest);
  }
  shapes.push_back({std::move(forms), std::move(compiled)});
  make_current(shapes.back().compiled.get());
}

void Executable::State::make_current(CompiledGraph* compiled) {
  const std::lock_guard lock(current_lock);
  current = compiled;
}

void Executable::State::check(TensorSymbol symbol) const {
  if (symbol.graph != identity || symbol.index >= source.symbol_count())
    fail_graph("executable of " + source.name() + ": a symbol of another graph was given");
}

/// Returns the form of an input or a bound output; null for any other symbol.
const TensorForm* Executable::State::bindable_form(std::uint32_t symbol) const {
  if (current != nullptr) {
    const Bindable* const found = current->bindable.find(symbol);
    return found == nullptr ? nullptr : &*found->form;
  }
  const auto input = std::ranges::find(inputs, symbol, &decltype(inputs)::value_type::first);
  if (input != inputs.end()) return &*input->second;
  const auto output = std::ranges::find(options.bound, symbol, &TensorSymbol::index);
  return output == options.bound.end() ? nullptr : &source.form(symbol);
}

/// Checks that an input is not larger than memory is planned for.
void Executable::State::check_size(std::uint32_t symbol, const Tensor& tensor) const {
  if (options.largest.empty()) return;
  const TensorForm form = tensor.form();
  const auto input = std::ranges::find(inputs, symbol, &decltype(inputs)::value_type::first);
  if (input == inputs.end()) return;
  const AxisList& most = input->second->shape;
  bool fits = form.shape.size() == most.size();
  for (int axis = 0; fits && axis < most.size(); ++axis) fits = form.shape[axis] <= most[axis];
  if (!fits)
    refuse(symbol, " must be at most " + to_string(input->second) + ", got " + to_string(form));
}

void Executable::State::bind(TensorSymbol symbol, const Tensor& tensor) {
  check(symbol);
  const TensorForm* of = bindable_form(symbol.index);
  if (of == nullptr) refuse(symbol.index, " is neither an input nor a bound output");
  const bool has_device =
      unknown.empty() || std::ranges::find(unknown, symbol.index) == unknown.end();
  if (tensor.dtype() != of->dtype || (has_device && !is_same_device(tensor.device(), of->device)))
    refuse(symbol.index, " must be " + to_string(*of) + ", got " + to_string(tensor.form()));
  if (tensor.data() == nullptr && tensor.element_count() > 0) refuse(symbol.index, " has no data");
  check_size(symbol.index, tensor);
  changed.push_back(symbol.index);
  Bound now{.data = tensor.data(), .extent = extent_of(tensor, symbol.index)};
  const Bound* const before = bound.find(symbol.index);
  if (tensor.owns_memory())
    now.owner = before != nullptr && before->owner ? before->owner : std::make_shared<Tensor>();
  if (current != nullptr && has_form(tensor, *of)) {
    now.form = current->bindable.at(symbol.index).form;
    current->bind(symbol.index, tensor);
  } else {
    now.form = tensor.form();
    is_other_shape = true;
  }
  // Nothing below needs memory.
  if (now.owner != nullptr) *now.owner = tensor;
  bound[symbol.index] = std::move(now);
}

/// Gives the inputs that have no shape yet those of the tensors that are bound to them.
void Executable::State::learn_shapes() {
  if (unknown.empty()) return;
  SymbolicGraph complete = source.graph();
  for (const std::uint32_t input : unknown) {
    const Bound* const given = bound.find(input);
    if (given == nullptr) refuse(input, " has no shape before a tensor is bound to it");
    complete.set_form(complete.at(input), given->form);
  }
  source = PackedGraph(complete);
  inputs = inputs_of(complete);
  unknown.clear();
}

/// Makes the shapes of the bound inputs the current ones: those that were met before, or a graph
/// that is compiled now. An input that was never bound keeps the shape that it had at first.
void Executable::State::change_shapes() {
  learn_shapes();
  std::vector<SharedForm> now;
  for (const auto& [index, form] : inputs) {
    const Bound* const given = bound.find(index);
    now.push_back(given == nullptr ? form : given->form);
  }
  const auto met = std::ranges::find(shapes, now, &Shapes::inputs);
  if (met == shapes.end()) {
    const SymbolicGraph first = source.graph();
    std::vector<std::pair<TensorSymbol, TensorForm>> changed;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (now[k] != inputs[k].second) changed.emplace_back(first.at(inputs[k].first), now[k]);
    compile_for(first.with_forms(changed));
  } else {
    make_current(met->compiled.get());
  }
  bound.each([&](std::uint32_t symbol, const Bound& memory) {
    changed.push_back(symbol);  // other memory is planned now
    const SharedForm& form = current->bindable.at(symbol).form;
    if (memory.form != form)
      refuse(symbol, " must be " + to_string(form) + ", got " + to_string(memory.form));
    current->bind(symbol, memory.tensor());
  });
  is_other_shape = false;
}

void Executable::State::run() {
  is_cancelled.store(false, std::memory_order_relaxed);
  if (current == nullptr || is_other_shape) change_shapes();
  if (!changed.empty()) check_bound();
  if (shapes.size() > 1)
    for (Shapes& s : shapes)
      if (s.compiled.get() == current) s.last_run = ++runs;
  if (is_cancelled.load(std::memory_order_relaxed))
    fail_graph("executable of " + source.name() + ": cancelled before its first node", MOTE_FAILED);
  try {
    current->graph.run();
  } catch (...) {
    current->failed = current->graph.statistics().runs;
    throw;
  }
  current->has_run = true;
}

/// A graph that is compiled for other shapes takes the place of the current one under the lock, so
/// that this one is there while it is cancelled.
void Executable::State::cancel() {
  const std::lock_guard lock(current_lock);
  is_cancelled.store(true, std::memory_order_relaxed);
  if (current != nullptr) current->graph.cancel();
}

/// Returns what was compiled last.
CompiledGraph& Executable::State::compiled() const {
  if (current == nullptr)
    refuse(unknown.front(), " has no shape before a tensor is bound to it and a run begins");
  return *current;
}

const CompileReport& Executable::State::report() const {
  return current == nullptr ? known : current->report;
}

Tensor Executable::State::output(TensorSymbol symbol) const {
  check(symbol);
  const CompiledGraph& of = compiled();
  const auto found = of.outputs.find(symbol.index);
  if (found == of.outputs.end()) refuse(symbol.index, " was not asked for when it was compiled");
  if (!of.has_run && of.graph.statistics().runs <= of.failed)
    refuse(symbol.index, " has no value: no run with these shapes has ended well");
  return of.graph.memory(found->second);
}

Executable::Executable(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executable::Executable(Executable&&) noexcept = default;
Executable& Executable::operator=(Executable&&) noexcept = default;
Executable::~Executable() = default;

Executable::State& Executable::state() const {
  if (state_ == nullptr) fail_graph("executable: it was moved to another one");
  return *state_;
}

InUse::InUse(Executable::State& state, const char* op) : state_(state) {
  if (state_.in_use.exchange(true, std::memory_order_acquire))
    fail_graph("executable of " + state_.source.name() + ": " + op +
               ": another call uses the executable, in another thread or around this one: it is "
               "running (each thread may compile its own)");
}

void Executable::bind(TensorSymbol symbol, const Tensor& tensor) {
  const InUse use(state(), "bind");
  state_->bind(symbol, tensor);
}
void Executable::run() {
  const InUse use(state(), "run");
  state_->run();
}
void Executable::run(std::span<const TensorBinding> bindings) {
  const InUse use(state(), "run");
  for (const auto& [symbol, tensor] : bindings) state_->bind(symbol, tensor);
  state_->run();
}
Tensor Executable::output(TensorSymbol symbol) const {
  const InUse use(state(), "output");
  return state_->output(symbol);
}
void Executable::cancel() { state().cancel(); }
const CompileReport& Executable::report() const {
  const InUse use(state(), "report");
  return state_->report();
}
Graph& Executable::graph() {
  const InUse use(state(), "graph");
  return state_->compiled().graph;
}

CompileReport plan_graph(const SymbolicGraph& graph, const CompileOptions& options,
                         Context& context) {
  for (const auto* asked : {&options.outputs, &options.bound})
    for (const TensorSymbol symbol : *asked) graph.info(symbol);
  if (options.largest.empty()) return plan_shapes(graph, options, context);
  const SymbolicGraph largest = at_largest(graph, options.largest);
  CompileOptions with = options;
  with.outputs = symbols_in(largest, options.outputs);
  with.bound = symbols_in(largest, options.bound);
  return plan_shapes(largest, with, context);
}

Executable compile(const SymbolicGraph& graph, const CompileOptions& options, Context& context) {
  return Executable(std::make_unique<Executable::State>(graph, options, context));
}

}  // namespace mote
