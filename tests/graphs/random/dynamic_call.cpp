// SPDX-License-Identifier: Apache-2.0
#include "dynamic_call.h"

#include "mote/base/error.h"
#include "mote/symbolic/gradient.h"

namespace mote::test {
namespace {

/// Returns for each place that is there the next of `given`.
template <typename T>
std::vector<T> in_places(const std::vector<bool>& is_there, std::span<const T> given) {
  std::vector<T> placed(is_there.size());
  std::size_t next = 0;
  for (std::size_t k = 0; k < placed.size(); ++k)
    if (is_there[k]) placed[k] = given[next++];
  return placed;
}

/// Returns symbols of the same elements that nothing else depends on, so that a gradient with
/// respect to them is the command's alone.
std::vector<TensorSymbol> copies_of(SymbolicGraph& graph, std::span<const TensorSymbol> inputs) {
  std::vector<TensorSymbol> copies;
  for (const TensorSymbol input : inputs) {
    const TensorForm form = graph.form(input);
    copies.push_back(graph.convert(input, {form.dtype, form.shape}));
  }
  return copies;
}

}  // namespace

void run_to_of(DynamicGraph& g, const Variable& output, const Command& command,
               std::span<const VariableRef> inputs) {
  const auto& x = inputs;
  switch (x.size()) {
    case 0:
      return g.run_to(output, command, {});
    case 1:
      return g.run_to(output, command, {x[0]});
    case 2:
      return g.run_to(output, command, {x[0], x[1]});
    case 3:
      return g.run_to(output, command, {x[0], x[1], x[2]});
    case kMaxInputs:
      return g.run_to(output, command, {x[0], x[1], x[2], x[3]});
    default:
      throw Error("run_to_of: too many inputs");
  }
}

void run_in_place_of(DynamicGraph& g, const Variable& x, const Command& command,
                     std::span<const VariableRef> others) {
  switch (others.size()) {
    case 0:
      return g.run_in_place(x, command);
    case 1:
      return g.run_in_place(x, command, {others[0]});
    case 2:
      return g.run_in_place(x, command, {others[0], others[1]});
    case kMaxInputs - 1:
      return g.run_in_place(x, command, {others[0], others[1], others[2]});
    default:
      throw Error("run_in_place_of: too many inputs");
  }
}

std::shared_ptr<const NamedFunction> function_of(const Command& command,
                                                 const std::vector<bool>& has_input,
                                                 const std::vector<bool>& has_output,
                                                 std::optional<DType> dtype) {
  auto made = std::make_shared<NamedFunction>();
  made->name = "call of " + to_string(command);
  made->run = [=](std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    std::vector<const Tensor*> given;
    std::vector<Tensor> copies(outputs.begin(), outputs.end());
    std::vector<Tensor*> places;
    for (const Tensor& input : inputs) given.push_back(&input);
    for (Tensor& output : copies) places.push_back(&output);
    run(command, in_places<const Tensor*>(has_input, given),
        in_places<Tensor*>(has_output, places));
  };
  made->gradient = [=](SymbolicGraph& graph, const FunctionCall& call) {
    const std::vector<TensorSymbol> inputs = copies_of(graph, call.inputs);
    const NodeSymbol node =
        graph.add_node(command, in_places<TensorSymbol>(has_input, inputs), dtype);
    std::vector<TensorSymbol> of, seeds, wrt;
    std::size_t next = 0;
    for (std::size_t k = 0; k < has_output.size(); ++k) {
      if (!has_output[k]) continue;
      const TensorSymbol seed = call.gradients[next++];
      if (!seed) continue;
      of.push_back(graph.output(node, k));
      seeds.push_back(seed);
    }
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (is_in(call.wanted, k) && is_real(graph.form(inputs[k]).dtype)) wrt.push_back(inputs[k]);
    std::vector<TensorSymbol> gradients(inputs.size());
    if (of.empty() || wrt.empty()) return gradients;
    const std::vector<TensorSymbol> found = gradient(graph, of, wrt, seeds);
    next = 0;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (is_in(call.wanted, k) && is_real(graph.form(inputs[k]).dtype))
        gradients[k] = found[next++];
    return gradients;
  };
  return made;
}

}  // namespace mote::test
