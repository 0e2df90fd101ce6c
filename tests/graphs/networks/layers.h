// SPDX-License-Identifier: Apache-2.0
// The layers that networks.h is made of: each adds nodes and inputs to a graph and returns a
// symbol. Images are [n, channels, rows, columns].
#pragma once

#include <string>
#include <string_view>

#include "networks.h"

namespace mote::networks {

struct Window {
  std::int64_t size = 1, stride = 1, pad = 0;
};

class Layers {
 public:
  Layers(std::string_view name, Mode mode)
      : network_{SymbolicGraph(std::string(name))}, mode_(mode) {}

  SymbolicGraph& graph() { return network_.graph; }
  bool training() const { return mode_ == Mode::training; }
  std::int64_t extent(TensorSymbol x, int axis) const { return network_.graph.form(x).shape[axis]; }

  TensorSymbol input(std::string_view name, DType dtype, const AxisList& shape);
  TensorSymbol parameter(const std::string& name, const AxisList& shape);

  /// conv2d without a bias; `into` is the symbol that is written, or none for a new one.
  TensorSymbol conv2d(TensorSymbol x, std::int64_t channels, const Window& window,
                      TensorSymbol into = {});
  TensorSymbol max_pool(TensorSymbol x, const Window& window, TensorSymbol into = {});
  TensorSymbol average_pool(TensorSymbol x, const Window& window, TensorSymbol into = {});
  TensorSymbol batch_norm(TensorSymbol x);
  TensorSymbol relu(TensorSymbol x) { return graph().add("relu", {x}); }
  TensorSymbol layer_norm(TensorSymbol x);
  /// x [n, in] times a weight [in, features], and a bias.
  TensorSymbol linear(TensorSymbol x, std::int64_t features);
  /// The mean over rows and columns, [n, channels].
  TensorSymbol global_average(TensorSymbol x);

  /// Ends the network: logits [n, classes] are its output, or the loss of labels [n].
  Network finish(TensorSymbol logits, TensorSymbol labels = {});

 private:
  std::string next(std::string_view layer);
  TensorSymbol apply(const std::string& command, TensorSymbol x, TensorSymbol w, TensorSymbol into);

  Network network_;
  Mode mode_;
  std::vector<TensorSymbol> next_statistics_;
  int count_ = 0;
};

}  // namespace mote::networks
