// SPDX-License-Identifier: Apache-2.0
// Each layer: its parameters as inputs, its ops as nodes.
#include "layers.h"

#include <array>

#include "mote/runtime/command.h"

namespace mote::networks {
namespace {

std::string text(std::int64_t number) { return std::to_string(number); }

std::string strides_and_pads(const Window& w) {
  std::string result = " stride0=" + text(w.stride) + " stride1=" + text(w.stride);
  for (int side = 0; side < 4; ++side) result += " pads" + text(side) + "=" + text(w.pad);
  return result;
}

std::string kernel(const Window& w) {
  return " kernel0=" + text(w.size) + " kernel1=" + text(w.size) + strides_and_pads(w);
}

}  // namespace

std::string Layers::next(std::string_view layer) { return std::string(layer) + text(count_++); }

TensorSymbol Layers::input(std::string_view name, DType dtype, const AxisList& shape) {
  return network_.inputs.emplace_back(graph().input(name, {dtype, shape}));
}

TensorSymbol Layers::parameter(const std::string& name, const AxisList& shape) {
  return network_.parameters.emplace_back(graph().input(name, {DType::f32, shape}));
}

TensorSymbol Layers::apply(const std::string& command, TensorSymbol x, TensorSymbol w,
                           TensorSymbol into) {
  const std::array<TensorSymbol, 2> all = {x, w};
  const auto inputs = std::span(all).first(w ? 2 : 1);
  const Command parsed = parse_command(command);
  if (!into) return graph().add(parsed, inputs);
  graph().write(parsed, inputs, std::span(&into, 1));
  return into;
}

TensorSymbol Layers::conv2d(TensorSymbol x, std::int64_t channels, const Window& window,
                            TensorSymbol into) {
  const TensorSymbol w =
      parameter(next("conv") + ".weight", {channels, extent(x, 1), window.size, window.size});
  return apply("conv2d" + strides_and_pads(window), x, w, into);
}

TensorSymbol Layers::max_pool(TensorSymbol x, const Window& window, TensorSymbol into) {
  return apply("max_pool2d" + kernel(window), x, {}, into);
}

TensorSymbol Layers::average_pool(TensorSymbol x, const Window& window, TensorSymbol into) {
  return apply("avg_pool2d" + kernel(window), x, {}, into);
}

TensorSymbol Layers::batch_norm(TensorSymbol x) {
  const std::string name = next("norm");
  const AxisList shape = graph().form(x).shape;
  const TensorSymbol gamma = parameter(name + ".gamma", {shape[1]});
  const TensorSymbol beta = parameter(name + ".beta", {shape[1]});
  const TensorForm form = {DType::f32, {shape[1]}};
  const TensorSymbol mean = graph().input(name + ".mean", form);
  const TensorSymbol variance = graph().input(name + ".variance", form);
  network_.state.insert(network_.state.end(), {mean, variance});
  // The op takes rows and columns as one axis.
  const TensorSymbol pixels = graph().reshape(x, {shape[0], shape[1], shape[2] * shape[3]});
  const std::array<TensorSymbol, 5> inputs = {pixels, gamma, beta, mean, variance};
  if (!training()) return graph().reshape(graph().add(Command("batch_norm"), inputs), shape);
  const NodeSymbol node = graph().add_node(Command("batch_norm_training"), inputs);
  next_statistics_.push_back(graph().output(node, 1));
  next_statistics_.push_back(graph().output(node, 2));
  return graph().reshape(graph().output(node, 0), shape);
}

TensorSymbol Layers::layer_norm(TensorSymbol x) {
  const std::string name = next("norm");
  const AxisList shape = {extent(x, 1)};
  const TensorSymbol gamma = parameter(name + ".gamma", shape);
  const TensorSymbol beta = parameter(name + ".beta", shape);
  return graph().add("layer_norm", {x, gamma, beta});
}

TensorSymbol Layers::linear(TensorSymbol x, std::int64_t features) {
  const std::string name = next("linear");
  const TensorSymbol w = parameter(name + ".weight", {extent(x, 1), features});
  const TensorSymbol b = parameter(name + ".bias", {features});
  return graph().add("add", {graph().add("matmul", {x, w}), b});
}

TensorSymbol Layers::global_average(TensorSymbol x) {
  return graph().reshape(graph().add("global_avg_pool", {x}), {extent(x, 0), extent(x, 1)});
}

Network Layers::finish(TensorSymbol logits, TensorSymbol labels) {
  SymbolicGraph& g = graph();
  const std::int64_t n = extent(logits, 0);
  const std::int64_t classes = extent(logits, 1);
  network_.classes = classes;
  if (!training()) {
    g.rename(logits, "logits");
    network_.outputs = {logits};
  } else {
    if (!labels) labels = input("labels", DType::i64, {n});
    network_.loss =
        g.add("cross_entropy", {g.reshape(logits, {n, classes, 1}), g.reshape(labels, {n, 1})});
    g.rename(network_.loss, "loss");
    network_.outputs = next_statistics_;
    network_.outputs.insert(network_.outputs.begin(), network_.loss);
  }
  g.set_outputs(network_.outputs);
  return std::move(network_);
}

}  // namespace mote::networks
