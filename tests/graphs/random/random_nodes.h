// SPDX-License-Identifier: Apache-2.0
// The kinds of random nodes. Each function adds one node or a few to the graph and publishes their
// outputs; it returns false, with the graph as it was or with unused symbols, if it found nothing
// to add.
#pragma once

#include "graph_builder.h"

namespace mote::test {

/// Restricts the ops and their dtype.
struct NodeChoice {
  const std::vector<NodeOp>* ops = nullptr;
  std::optional<DType> dtype = std::nullopt;
};

bool add_drawn(GraphBuilder& b, const NodeChoice& choice);  ///< any op, by the case generator
/// The op node_ops()[number], and so often that one of its calls fits.
bool add_op(GraphBuilder& b, std::size_t number, std::optional<DType> dtype);
bool add_random(GraphBuilder& b, const NodeChoice& choice);     ///< an op that draws numbers
bool add_pointwise(GraphBuilder& b, const NodeChoice& choice);  ///< on a value, with broadcasting
bool add_along_axis(GraphBuilder& b, const NodeChoice& choice);
bool add_chain(GraphBuilder& b, const NodeChoice& choice);  ///< in-place pairs, one after the other
bool add_pattern(GraphBuilder& b, const NodeChoice& choice);  ///< nodes that a pass replaces
bool add_duplicate(GraphBuilder& b);
bool add_parts(GraphBuilder& b, const NodeChoice& choice);  ///< disjoint writes to one tensor
bool add_conversion(GraphBuilder& b);
bool add_view(GraphBuilder& b);
bool add_order(GraphBuilder& b);
bool add_loop(GraphBuilder& b, const NodeChoice& choice);
bool add_branches(GraphBuilder& b, const NodeChoice& choice);

}  // namespace mote::test
