// SPDX-License-Identifier: Apache-2.0
// Loops and branches of a symbolic graph: nodes that hold graphs of their own, which know nothing
// of the graph around but their inputs (SymbolicGraph::add_while, add_case_of).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "mote/base/export.h"
#include "mote/symbolic/symbolic_graph.h"

namespace MOTE_API mote {

/// The graphs of a node of the kind `control`. It never changes; copies of a graph share it.
///
/// A loop has one graph, its body. The node's inputs are the body's, in order, without the counter.
/// The body's outputs are the next values of its first inputs, and last the condition: a bool or an
/// integer of one element. What computes the condition runs first in each iteration; the loop ends
/// when it is 0. The node's outputs are the values that the first inputs have then.
///
/// A case..of has a graph for each branch. The node's inputs are the index, then for each output
/// what it is if no branch runs (left out: then it is an error if none does), then the inputs of
/// each branch. All branches have as many outputs as the node, of the same forms.
struct ControlInfo {
  bool is_loop = true;
  std::vector<SymbolicGraph> graphs;
  bool has_counter = false;  ///< the body's last input is an i64[]: the number of the iteration
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();  ///< of iterations
  std::int64_t checkpoints = kKeepEach;                           ///< of the loop's gradient
};

/// The inputs of a graph in the order in which they were added.
std::vector<std::uint32_t> input_indices(const SymbolicGraph& graph);

/// The position among the node's inputs of the first input of graph k; its inputs follow each
/// other.
std::size_t first_input(const NodeInfo& node, std::size_t k);
/// The number of inputs of graph k that come from the node's.
std::size_t input_count(const ControlInfo& control, std::size_t k);
/// The number of tensors that a loop carries over, or that a case..of gives.
std::size_t result_count(const ControlInfo& control);

/// The bytes that loops keep for their gradients in this process, in all runs under way.
struct TapeBytes {
  std::int64_t now = 0;
  std::int64_t most = 0;  ///< since the program began, or reset_tape_bytes()
};
TapeBytes tape_bytes();
void reset_tape_bytes();

/// The most graphs that may be inside each other.
inline constexpr int kMaxNesting = 200;
/// Returns how many graphs are inside each other: 1 if it has no loop and no branch.
int nesting(const SymbolicGraph& graph);

}  // namespace mote
