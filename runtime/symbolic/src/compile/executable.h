// SPDX-License-Identifier: Apache-2.0
// The state of a compiled graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mote/symbolic/compile.h"

namespace mote {

/// A symbol of the graph that was compiled, by index.
struct Bindable {
  std::string name;
  TensorForm form;
  bool is_input = false;
  bool is_output = false;  ///< an output whose memory the caller binds
  GraphTensor tensor;      ///< a default one if no node uses it
};

struct Executable::State {
  void check(TensorSymbol symbol) const;
  void bind(TensorSymbol symbol, const Tensor& tensor);
  void check_bound();
  void run();
  Tensor output(TensorSymbol symbol) const;

  std::uint32_t identity = 0;  ///< of the graph that was compiled
  std::vector<Bindable> bindable;
  std::vector<std::uint32_t> bound_outputs;
  std::map<std::uint32_t, Tensor> bound;
  std::map<std::uint32_t, GraphTensor> outputs;  ///< by index of the graph that was compiled
  Tensor arena;
  Graph graph;
  CompileReport report;
  bool is_checked = false;
};

}  // namespace mote
