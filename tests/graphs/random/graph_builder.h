// SPDX-License-Identifier: Apache-2.0
// Builds a random symbolic graph step by step: the values that nodes may read so far, and ways to
// get an operand of a wanted form from them, by views, conversions, or a new input.
#pragma once

#include <optional>
#include <vector>

#include "codegen/random/rng.h"
#include "mote/symbolic/symbolic_graph.h"
#include "runtime/drawn_calls.h"

namespace mote::test {

/// The most elements of a tensor of a random graph.
inline constexpr std::int64_t kMaxElements = 2048;

/// An op that may become a node, with the properties that the generator chooses by.
struct NodeOp {
  DrawableOp op;
  bool is_pointwise = false;
  bool has_pair = false;    ///< an output may take the memory of an input
  bool takes_axis = false;  ///< one input [R, N, C] or [R, N]
};
/// All ops and gradients that have kernels.
const std::vector<NodeOp>& node_ops();
/// Returns the command of a drawn call.
Command command_of(const DrawnCall& call, std::optional<int> axis = std::nullopt);

class GraphBuilder {
 public:
  /// A graph of exact reals has reals in f64 only, so that derivatives flow through all of them.
  explicit GraphBuilder(std::uint64_t seed, bool has_exact_reals = false);

  SymbolicGraph& graph() { return graph_; }
  Rng& rng() { return rng_; }
  bool has_exact_reals() const { return has_exact_reals_; }
  const std::vector<TensorSymbol>& values() const { return values_; }
  /// The number of loops and branches that the graph is in.
  int depth() const { return depth_; }
  void set_depth(int depth) { depth_ = depth; }

  /// Makes the symbol one that later nodes may read.
  void publish(TensorSymbol symbol);
  /// Counts a read, so that others are preferred next.
  void note_read(TensorSymbol symbol);

  /// Returns a value of the dtype, the recent ones and those that nothing reads more often; none if
  /// there is none.
  TensorSymbol some_value(std::optional<DType> dtype = std::nullopt);
  /// Returns a symbol of that dtype and shape: a value, a view of one, a conversion, or a new
  /// input, constant or zeros.
  TensorSymbol operand(DType dtype, const AxisList& shape);
  TensorSymbol new_leaf(DType dtype, const AxisList& shape);
  /// Returns a view of the symbol by one random step; none if the step is not possible.
  TensorSymbol some_view(TensorSymbol x);
  /// Returns a node that is not removed; none if there is none.
  NodeSymbol some_node();

 private:
  TensorSymbol as_view(TensorSymbol x, const AxisList& shape);
  TensorSymbol through_memory(TensorSymbol x, const AxisList& shape);
  TensorSymbol constant(DType dtype, const AxisList& shape);

  Rng rng_;
  bool has_exact_reals_;
  SymbolicGraph graph_;
  std::vector<TensorSymbol> values_;
  std::vector<int> reads_;  ///< by index of the symbol
  int leaves_ = 0;
  int depth_ = 0;
};

/// Returns the number of elements; saturates above kMaxElements.
std::int64_t count_of(const AxisList& shape);

}  // namespace mote::test
