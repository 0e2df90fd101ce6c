// SPDX-License-Identifier: Apache-2.0
// A training step: the network's gradient, and an optimiser's node for each parameter.
#include <array>

#include "mote/runtime/command.h"
#include "mote/symbolic/gradient.h"
#include "networks.h"

namespace mote::networks {
namespace {

/// Appends adam for parameter w with the gradient g, and the inputs of its moments.
void add_adam(Network& network, TensorSymbol w, TensorSymbol gradient, TrainingStep& step) {
  SymbolicGraph& g = network.graph;
  const std::string name = g.info(w).name;
  std::array<TensorSymbol, 4> inputs = {w, gradient};
  for (std::size_t k = 2; k < inputs.size(); ++k) {
    inputs[k] = g.input(name + ".moment" + std::to_string(k - 1), g.form(w));
    network.state.push_back(inputs[k]);
  }
  const NodeSymbol node = g.add_node(Command("adam", {{"step", 1}}), inputs);
  step.next_parameters.push_back(g.output(node, 0));
  step.next_moments.push_back(g.output(node, 1));
  step.next_moments.push_back(g.output(node, 2));
}

}  // namespace

TrainingStep training(Network& network, Optimiser optimiser) {
  SymbolicGraph& g = network.graph;
  TrainingStep step;
  step.gradients = gradient(g, std::span(&network.loss, 1), network.parameters);
  const auto add_outputs = [&](const std::vector<TensorSymbol>& symbols) {
    network.outputs.insert(network.outputs.end(), symbols.begin(), symbols.end());
  };
  if (optimiser == Optimiser::none) {
    add_outputs(step.gradients);
  } else {
    for (std::size_t k = 0; k < network.parameters.size(); ++k)
      add_adam(network, network.parameters[k], step.gradients[k], step);
    add_outputs(step.next_parameters);
    add_outputs(step.next_moments);
  }
  g.set_outputs(network.outputs);
  return step;
}

}  // namespace mote::networks
