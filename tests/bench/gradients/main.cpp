// SPDX-License-Identifier: Apache-2.0
// Writes the gradient of a network's loss for peers to compare (peers/jax_gradients.py):
//
//   mote_network_gradients NETWORK f32|f64 OUT.npz
//
// The file holds the network's inputs and parameters by name, "loss", "grad.NAME" of each
// parameter, and for k below 4 random signs "sign<k>.NAME" with "error<k>": how far from the exact
// value rounding may take the sum of <sign, grad> over all parameters. An LSTM's second gradient
// has no kernels: in its place are bounds of each element, "low.NAME" and "high.NAME", of the whole
// graph as one program.
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <string>

#include "mote/base/error.h"
#include "mote/npz/npz.h"
#include "mote/oracle/graph_bound.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/text.h"
#include "sensitivity.h"

namespace mote::bench {
namespace {

using networks::Mode;
using networks::Network;

constexpr int kDirections = 4;

Network network_of(const std::string& name) {
  const networks::Images images{.batch = 4, .size = 64, .classes = 5};
  if (name == "mlp") return networks::mlp(Mode::training, 8, {12, 10, 5});
  if (name == "cnn") return networks::cnn(Mode::training, {.batch = 4, .size = 8, .classes = 5}, 4);
  if (name == "residual_block")
    return networks::residual_block(Mode::training, {.batch = 4, .size = 6, .classes = 5}, 4);
  if (name == "resnet50") return networks::resnet(Mode::training, images, {3, 4, 6, 3}, 4);
  if (name == "densenet121")
    return networks::densenet(Mode::training, images, networks::Join::concat, {6, 12, 24, 16}, 2);
  const networks::Recurrent recurrent{
      .steps = 2, .batch = 2, .features = 3, .hidden = 3, .classes = 4};
  if (name == "lstm") return networks::lstm(Mode::training, recurrent);
  if (name == "stacked_lstm") {
    networks::Recurrent stacked = recurrent;
    stacked.layers = 2;
    return networks::lstm(Mode::training, stacked);
  }
  if (name == "gpt")
    return networks::transformer(
        Mode::training,
        {.vocabulary = 11, .channels = 16, .heads = 4, .tokens = 8, .batch = 2, .blocks = 4});
  throw Error("there is no network '" + name +
              "': mlp, cnn, residual_block, resnet50, densenet121, lstm, "
              "stacked_lstm, gpt");
}

/// The graph with all reals in another dtype: its text says them, and names its symbols.
SymbolicGraph in_dtype(const SymbolicGraph& graph, const std::string& dtype) {
  std::string text = to_text(graph);
  for (std::size_t at = 0; (at = text.find("f32[", at)) != std::string::npos; at += dtype.size())
    text.replace(at, 3, dtype);
  return parse_graph(text);
}

/// One of -1 and 1 for each element, the same for the same seed.
Tensor signs_like(const TensorForm& form, std::uint64_t& state) {
  const Tensor tensor(form.dtype, form.shape);
  const Tensor flat = tensor.reshape({tensor.element_count()});
  for (std::int64_t k = 0; k < flat.extent(0); ++k) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    flat.set({k}, state >> 63U != 0 ? 1.0 : -1.0);
  }
  return tensor;
}

Tensor scalar(double value) {
  Tensor tensor(DType::f64, AxisList{});
  fill(tensor, value);
  return tensor;
}

Tensor vector_of(const std::vector<double>& elements) {
  const Tensor tensor(DType::f64, {static_cast<std::int64_t>(elements.size())});
  if (!elements.empty())
    std::memcpy(tensor.data(), elements.data(), elements.size() * sizeof(double));
  return tensor;
}

/// The network's graph in a dtype, the values of its inputs, and its gradients.
struct Step {
  SymbolicGraph graph;
  std::vector<TensorBinding> bindings;
  std::vector<TensorSymbol> gradients;

  Step(const Network& network, const std::vector<TensorSymbol>& of, const std::string& dtype)
      : graph(in_dtype(network.graph, dtype)) {
    for (const auto& [symbol, tensor] : networks::values(network, 1)) {
      const TensorSymbol input = graph.find(network.graph.text(symbol));
      const Tensor value(graph.form(input).dtype, tensor.shape());
      copy(tensor, value);
      bindings.emplace_back(input, value);
    }
    for (const TensorSymbol gradient : of)
      gradients.push_back(graph.find(network.graph.text(gradient)));
  }
};

void write(const std::string& name, const std::string& dtype, const std::string& path) {
  Network network = network_of(name);
  const networks::TrainingStep trained = networks::training(network);
  std::vector<TensorSymbol> outputs = {network.loss};
  outputs.insert(outputs.end(), trained.gradients.begin(), trained.gradients.end());
  network.graph.set_outputs(outputs);
  const Step step(network, trained.gradients, dtype);
  NamedTensors file;
  for (const auto& [symbol, tensor] : step.bindings) file[step.graph.text(symbol)] = tensor;
  const auto name_of = [&](std::size_t k) { return network.graph.text(network.parameters[k]); };
  std::vector<TensorSymbol> asked = step.gradients;
  asked.push_back(step.graph.find("loss"));
  const std::vector<Tensor> results = evaluate(step.graph, step.bindings, asked);
  file["loss"] = results.back();
  for (std::size_t k = 0; k < step.gradients.size(); ++k) file["grad." + name_of(k)] = results[k];
  if (name.ends_with("lstm")) {
    Context context;
    const auto bounds = bounds_of(step.graph, step.bindings, context);
    if (const auto* reason = std::get_if<Reason>(&bounds)) throw Error(reason->text);
    const auto& all = std::get<std::vector<OutputBounds>>(bounds);
    for (std::size_t k = 0; k < step.gradients.size(); ++k) {
      file["low." + name_of(k)] = vector_of(all[k + 1].low);
      file["high." + name_of(k)] = vector_of(all[k + 1].high);
    }
  } else {
    // Slopes are those of f32, in which more ops have a second gradient.
    const Step wide(network, trained.gradients, "f32");
    const LocalErrors own = local_errors(step.graph, step.bindings);
    LocalErrors errors;
    for (const auto& [index, error] : own)
      errors[wide.graph.find(step.graph.text(step.graph.at(index))).index] = error;
    std::uint64_t state = 1;
    for (int direction = 0; direction < kDirections; ++direction) {
      std::vector<Tensor> signs;
      for (std::size_t k = 0; k < wide.gradients.size(); ++k) {
        signs.push_back(signs_like(wide.graph.form(wide.gradients[k]), state));
        file["sign" + std::to_string(direction) + "." + name_of(k)] = signs.back();
      }
      file["error" + std::to_string(direction)] =
          scalar(first_order_error(wide.graph, wide.bindings, wide.gradients, signs, errors));
    }
  }
  write_npz(path, file);
}

}  // namespace
}  // namespace mote::bench

int main(int count, char** arguments) {
  if (count != 4) {
    std::fprintf(stderr, "usage: mote_network_gradients NETWORK f32|f64 OUT.npz\n");
    return 2;
  }
  try {
    mote::bench::write(arguments[1], arguments[2], arguments[3]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
