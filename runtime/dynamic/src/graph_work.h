// SPDX-License-Identifier: Apache-2.0
// A symbolic graph that runs as one step of a trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mote/runtime/context.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/symbolic_graph.h"
#include "value.h"

namespace mote::trace {

/// A compiled graph, and the memory that is bound to it: inputs, then outputs. Memory that is found
/// where it was is not bound again.
struct CompiledWork {
  Executable executable;
  std::vector<const void*> bound;
};

/// A graph for inputs of fixed forms. It never changes; what it is compiled to is kept between
/// runs.
struct GraphWork {
  GraphWork(SymbolicGraph of, std::vector<TensorSymbol> in, std::vector<TensorSymbol> out);

  std::uint64_t id;  ///< of all works, never used again
  SymbolicGraph graph;
  std::vector<TensorSymbol> inputs;
  /// The outputs, each in memory of its own: a symbol that one node writes whole.
  std::vector<TensorSymbol> outputs;
  std::vector<TensorSymbol> asked;  ///< what was asked for: the outputs, or what they are copies of
  bool has_functions = false;  ///< it runs code of the caller's
  bool has_tape = false;       ///< a gradient reads the tapes of its run
  /// None before the first run, and while it runs.
  std::unique_ptr<CompiledWork> compiled;
  std::size_t planned_bytes = 0;  ///< of memory; 0 before it is compiled
  /// The number of outputs that the program gets. The others are read by the gradient of a static
  /// function only.
  std::size_t visible_outputs;
  TensorMask read_outputs{};  ///< those of the visible outputs that its gradient reads
};

/// Computes the graph: the outputs' memory is given. Inputs that the graph does not read may have
/// no memory. The executable is taken out of the work while it runs, so that a function in it may
/// run the same work.
struct RunningGraph {
  RunningGraph(GraphWork& work, Context& context);
  bool is_new() const { return is_new_; }  ///< it was compiled for this run
  /// Runs, and forgets the tensors.
  void run(std::span<const Tensor* const> inputs, std::span<const Tensor> outputs);
  ~RunningGraph();

  GraphWork& work;
  std::unique_ptr<CompiledWork> compiled;

 private:
  bool is_new_ = false;
};

}  // namespace mote::trace
