// SPDX-License-Identifier: Apache-2.0
// Networks as symbolic graphs, for tests and measurements. In: sizes. Out: a graph with its inputs,
// its parameters, and a loss or outputs; values for all of them; the graph of a training step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mote/symbolic/binding.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote::networks {

/// For inference the output is the logits (or states) and there is no loss. For training it is a
/// cross-entropy, a batch norm takes its statistics from the batch, and outputs are the loss and
/// the next running statistics.
enum class Mode : std::uint8_t { inference, training };

struct Network {
  SymbolicGraph graph;
  std::vector<TensorSymbol> inputs = {};      ///< data, of reals, and tokens or labels, of i64
  std::vector<TensorSymbol> parameters = {};  ///< inputs that are trained
  /// Inputs that a step gives anew: running means and variances, an optimiser's moments.
  std::vector<TensorSymbol> state = {};
  std::vector<TensorSymbol> outputs = {};  ///< those of the graph
  TensorSymbol loss = {};                  ///< one of the outputs when training
  std::int64_t classes = 0;                ///< tokens and labels are below it
};

struct Images {
  std::int64_t batch = 1;
  std::int64_t size = 224;  ///< rows and columns
  std::int64_t classes = 1000;
};

/// ResNet (He et al., 2015) with bottlenecks, whose stride is that of the 3x3 convolution. `blocks`
/// counts those of each stage: {3, 4, 6, 3} is ResNet-50. `width` is the number of channels after
/// the first convolution.
Network resnet(Mode mode, const Images& images, const std::vector<int>& blocks = {3, 4, 6, 3},
               std::int64_t width = 64);

/// The ways to join the layers of a dense block: `views` has one tensor for the block, into whose
/// channels each layer writes; `concat` makes a new tensor after each layer.
enum class Join : std::uint8_t { views, concat };

/// DenseNet (Huang et al., 2016). `layers` counts those of each block: {6, 12, 24, 16} is
/// DenseNet-121; each adds `growth` channels.
Network densenet(Mode mode, const Images& images, Join join = Join::views,
                 const std::vector<int>& layers = {6, 12, 24, 16}, std::int64_t growth = 32);

struct Recurrent {
  std::int64_t steps = 32, batch = 8, features = 64, hidden = 128, classes = 10;
  int layers = 1;
};
/// LSTM, unrolled: `layers` of them on top of each other, and a linear layer on the last state.
Network lstm(Mode mode, const Recurrent& sizes);

struct Transformer {
  std::int64_t vocabulary = 65, channels = 128, heads = 4, tokens = 64, batch = 12;
  int blocks = 4;
};
/// GPT-2 (Radford et al., 2019) with a causal attention: embeddings of tokens and positions,
/// `blocks` of attention and two linear layers, each behind a layer norm, and the embedding of
/// tokens again for the logits. The sizes by default are those of a small one of 0.8 M parameters.
Network transformer(Mode mode, const Transformer& sizes);

/// Linear layers of these widths with relu between them; `widths` begins with that of the input.
Network mlp(Mode mode, std::int64_t batch, const std::vector<std::int64_t>& widths);
/// Two 3x3 convolutions with batch norm, relu and max pooling, and a linear layer.
Network cnn(Mode mode, const Images& images, std::int64_t width = 8);
/// relu(x + norm(conv(relu(norm(conv(x)))))), with a linear layer for the loss.
Network residual_block(Mode mode, const Images& images, std::int64_t channels = 8);

enum class Optimiser : std::uint8_t { none, adam };
/// The symbols that training() appends, each by parameter.
struct TrainingStep {
  std::vector<TensorSymbol> gradients;
  std::vector<TensorSymbol> next_parameters;  ///< empty without an optimiser
  std::vector<TensorSymbol> next_moments;     ///< two for each parameter
};
/// Appends the gradient of the loss with respect to all parameters, and the optimiser's node for
/// each, which is that of step 1; the moments become inputs, and the outputs are the network's and
/// the last symbols of each parameter: its gradient, or the parameter and moments that are next.
TrainingStep training(Network& network, Optimiser optimiser = Optimiser::none);

/// Returns values for all inputs: reals uniform in -1..1, scaled by the root of the fan-in for
/// parameters of two axes and more; 1 for the factors of norms and running variances, 0 for what
/// they add, running means and moments; integers uniform below `classes`. `seed` determines them.
std::vector<TensorBinding> values(const Network& network, std::int64_t seed);

}  // namespace mote::networks
