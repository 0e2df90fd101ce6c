// SPDX-License-Identifier: Apache-2.0
// A compiled graph: tensors are bound to it, it runs, and its outputs are looked at.
#include "compile/executable.h"

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

}  // namespace

void Executable::State::check(TensorSymbol symbol) const {
  if (symbol.graph != identity || symbol.index >= bindable.size())
    fail_graph("executable of " + report.graph + ": a symbol of another graph was given");
}

void Executable::State::bind(TensorSymbol symbol, const Tensor& tensor) {
  check(symbol);
  const Bindable& of = bindable[symbol.index];
  const auto refuse = [&](const std::string& what) {
    fail_graph("executable of " + report.graph + ": " + of.name + what);
  };
  if (!of.is_input && !of.is_output) refuse(" is neither an input nor a bound output");
  const TensorForm form(tensor.dtype(), tensor.shape(), tensor.strides(), tensor.device());
  if (form != of.form) refuse(" must be " + to_string(of.form) + ", got " + to_string(form));
  if (tensor.data() == nullptr && tensor.element_count() > 0) refuse(" has no data");
  bound[symbol.index] = tensor;
  if (of.tensor != GraphTensor{}) graph.bind(of.tensor, tensor);
  is_checked = false;
}

/// Checks that each output that the caller binds shares memory with nothing else that is bound.
void Executable::State::check_bound() {
  for (const std::uint32_t output : bound_outputs) {
    const auto y = bound.find(output);
    if (y == bound.end())
      fail_graph("executable of " + report.graph + ": bound output " + bindable[output].name +
                 " has no memory");
    for (const auto& [index, tensor] : bound)
      if (index != output && share_memory(tensor, y->second))
        fail_graph("executable of " + report.graph + ": output " + bindable[output].name + " and " +
                   bindable[index].name + " share memory");
  }
  is_checked = true;
}

void Executable::State::run() {
  if (!is_checked) check_bound();
  graph.run();
}

Tensor Executable::State::output(TensorSymbol symbol) const {
  check(symbol);
  const auto found = outputs.find(symbol.index);
  if (found == outputs.end())
    fail_graph("executable of " + report.graph + ": " + bindable[symbol.index].name +
               " was not asked for when it was compiled");
  return graph.memory(found->second);
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
void Executable::run(std::span<const Binding> bindings) {
  for (const auto& [symbol, tensor] : bindings) state().bind(symbol, tensor);
  state().run();
}
Tensor Executable::output(TensorSymbol symbol) const { return state().output(symbol); }
void Executable::cancel() { state().graph.cancel(); }
const CompileReport& Executable::report() const { return state().report; }
Graph& Executable::graph() { return state().graph; }

}  // namespace mote
