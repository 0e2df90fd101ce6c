// SPDX-License-Identifier: Apache-2.0
// Which uops get a tensor of their own when a program is lowered; the rest is pulled into its
// readers.
#pragma once

#include <set>

#include "mote/uops/program.h"

namespace mote {

using NodeSet = std::set<const UopNode*>;

struct Materialised {
  NodeSet nodes;
  NodeSet for_text;  ///< those of them that would be written out too often otherwise
};

/// Each scatter; each reduction, unless it has one use and that use's index map is injective; a map
/// that would be recomputed (read at a non-injective index) unless it is barred and cheap; a
/// transcendental that three different places read; a map of some depth that many nests read, so
/// that text stays linear in the program. An output is a copy of its node: it is never read back,
/// because it is narrower than the value.
Materialised choose_materialised(const Program& program, const NodeSet& barred);
/// Every node that computes something.
NodeSet all_materialised(const Program& program);
/// Computing the node again costs: it holds a transcendental or a reduction that has no tensor.
bool is_expensive(const Uop& u, const NodeSet& materialised);
/// Scatter, SelectScatter: never without a tensor.
bool is_scatter(const Uop& u);
/// Input, Scalar, Param, Iota: free to repeat.
bool is_leaf(const Uop& u);

}  // namespace mote
