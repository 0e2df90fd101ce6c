// SPDX-License-Identifier: Apache-2.0
// A compiled graph: tensors are bound to it, it runs, and its outputs are looked at. Inputs of
// other shapes are compiled for when they run, and what was compiled is kept by shape.
#include "compile/executable.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "fail.h"
#include "mote/base/dlpack.h"

namespace mote {
namespace {

bool share_memory(const Tensor& a, const Tensor& b) {
  const std::span<std::byte> x = memory_of(a.dl());
  const std::span<std::byte> y = memory_of(b.dl());
  const std::less<> before;
  return !x.empty() && !y.empty() && before(x.data(), y.data() + y.size()) &&
         before(y.data(), x.data() + x.size());
}

std::vector<TensorSymbol> symbols_in(const SymbolicGraph& graph,
                                     const std::vector<TensorSymbol>& symbols) {
  std::vector<TensorSymbol> there;
  for (const TensorSymbol symbol : symbols) there.push_back(graph.at(symbol.index));
  return there;
}

std::vector<std::pair<std::uint32_t, TensorForm>> inputs_of(const SymbolicGraph& graph) {
  std::vector<std::pair<std::uint32_t, TensorForm>> inputs;
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k)
    if (graph.symbols()[k].kind == SymbolOrigin::input)
      inputs.emplace_back(k, graph.symbols()[k].form);
  return inputs;
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
      options(with),
      context(&where) {
  std::vector<TensorForm> forms;
  for (const auto& [index, form] : inputs) forms.push_back(form);
  shapes.push_back({std::move(forms), compile_shapes(graph, with, where)});
  current = shapes.back().compiled.get();
}

void Executable::State::check(TensorSymbol symbol) const {
  if (symbol.graph != identity || symbol.index >= source.symbol_count())
    fail_graph("executable of " + current->report.graph + ": a symbol of another graph was given");
}

void Executable::State::bind(TensorSymbol symbol, const Tensor& tensor) {
  check(symbol);
  const auto found = current->bindable.find(symbol.index);
  if (found == current->bindable.end())
    refuse(symbol.index, " is neither an input nor a bound output");
  const Bindable& of = found->second;
  const TensorForm form = tensor.form();
  if (form.dtype != of.form.dtype)
    refuse(symbol.index, " must be " + to_string(of.form) + ", got " + to_string(form));
  if (tensor.data() == nullptr && tensor.element_count() > 0) refuse(symbol.index, " has no data");
  is_checked = false;
  if (form == of.form) {
    current->bind(symbol.index, tensor);
  } else {
    is_other_shape = true;
  }
  bound.insert_or_assign(symbol.index, tensor);
}

/// Checks that each output that the caller binds shares memory with nothing else that is bound.
void Executable::State::check_bound() const {
  for (const std::uint32_t output : current->bound_outputs) {
    const auto y = bound.find(output);
    if (y == bound.end()) refuse(output, " is a bound output and has no memory");
    for (const auto& [index, tensor] : bound)
      if (index != output && share_memory(tensor, y->second))
        refuse(output, " shares memory with " + source.text(index) + ", and is written");
  }
}

/// Makes the shapes of the bound inputs the current ones: those that were met before, or a graph
/// that is compiled now. An input that was never bound keeps the shape that it had at first.
void Executable::State::change_shapes() {
  std::vector<TensorForm> now;
  for (const auto& [index, form] : inputs) {
    const auto given = bound.find(index);
    now.push_back(given == bound.end() ? form : given->second.form());
  }
  auto met = std::ranges::find(shapes, now, &Shapes::inputs);
  if (met == shapes.end()) {
    const SymbolicGraph first = source.graph();
    std::vector<std::pair<TensorSymbol, TensorForm>> changed;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (now[k] != inputs[k].second) changed.emplace_back(first.at(inputs[k].first), now[k]);
    const SymbolicGraph other = first.with_forms(changed);
    CompileOptions with = options;
    with.outputs = symbols_in(other, options.outputs);
    with.bound = symbols_in(other, options.bound);
    std::unique_ptr<CompiledGraph> compiled = compile_shapes(other, with, *context);
    if (shapes.size() >= std::max<std::size_t>(options.kept_shapes, 1))
      shapes.erase(std::ranges::min_element(shapes, {}, &Shapes::last_run));
    shapes.push_back({std::move(now), std::move(compiled)});
    met = shapes.end() - 1;
  }
  current = met->compiled.get();
  for (const auto& [symbol, tensor] : bound) {
    if (tensor.form() != current->bindable.at(symbol).form)
      refuse(symbol, " must be " + to_string(current->bindable.at(symbol).form) + ", got " +
                         to_string(tensor.form()));
    current->bind(symbol, tensor);
  }
  is_other_shape = false;
}

void Executable::State::run() {
  if (is_other_shape) change_shapes();
  if (!is_checked) {
    check_bound();
    is_checked = true;
  }
  if (shapes.size() > 1)
    for (Shapes& s : shapes)
      if (s.compiled.get() == current) s.last_run = ++runs;
  current->graph.run();
}

Tensor Executable::State::output(TensorSymbol symbol) const {
  check(symbol);
  const auto found = current->outputs.find(symbol.index);
  if (found == current->outputs.end())
    refuse(symbol.index, " was not asked for when it was compiled");
  return current->graph.memory(found->second);
}

Executable::Executable(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executable::Executable(Executable&&) noexcept = default;
Executable& Executable::operator=(Executable&&) noexcept = default;
Executable::~Executable() = default;

Executable::State& Executable::state() const {
  if (state_ == nullptr) fail_graph("executable: it was moved to another one");
  return *state_;
}

void Executable::bind(TensorSymbol symbol, const Tensor& tensor) { state().bind(symbol, tensor); }
void Executable::run() { state().run(); }
void Executable::run(std::span<const TensorBinding> bindings) {
  for (const auto& [symbol, tensor] : bindings) state().bind(symbol, tensor);
  state().run();
}
Tensor Executable::output(TensorSymbol symbol) const { return state().output(symbol); }
void Executable::cancel() { state().current->graph.cancel(); }
const CompileReport& Executable::report() const { return state().current->report; }
Graph& Executable::graph() { return state().current->graph; }

Executable compile(const SymbolicGraph& graph, const CompileOptions& options, Context& context) {
  return Executable(std::make_unique<Executable::State>(graph, options, context));
}

}  // namespace mote
