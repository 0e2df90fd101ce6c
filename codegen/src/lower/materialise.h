// SPDX-License-Identifier: Apache-2.0
// Chooses the uops that get a tensor of their own when a program is lowered; the rest is pulled
// into its readers.
#pragma once

#include <set>

#include "mote/uops/program.h"

namespace mote {

using NodeSet = std::set<const UopNode*>;

struct Materialised {
  NodeSet nodes;
  NodeSet for_text;  ///< the nodes among them whose text would otherwise be repeated too often
};

/// The maps that an earlier choice gave a tensor, and that are computed where they are read instead.
struct Barred {
  NodeSet cheap;   ///< unless computing them has become expensive by another choice
  NodeSet larger;  ///< they have more axes than any tensor that they read, as in x[n,i]*y[n,j]

  std::size_t size() const { return cheap.size() + larger.size(); }
};

/// Chooses each scatter; each reduction, unless it has one use and that use's index map is
/// injective; a map that would be recomputed (read at a non-injective index) unless it is barred; a
/// transcendental that three different locations read; a deep map that many nests
/// read, so that text stays linear in the program. An output is a copy of its node: it is never
/// read back, because it is narrower than the value.
Materialised choose_materialised(const Program& program, const Barred& barred);
/// Returns every node that computes a value.
NodeSet all_materialised(const Program& program);
/// Returns true if computing the node again is expensive: it holds a transcendental or a reduction
/// that has no tensor.
bool is_expensive(const Uop& u, const NodeSet& materialised);
/// Returns true if the value has more axes than each tensor that it is computed from.
bool is_larger_than_reads(const Uop& u, const NodeSet& materialised);
/// Returns true for Scatter and SelectScatter, which always have a tensor.
bool is_scatter(const Uop& u);
/// Returns true for Input, Scalar, Param and Iota, which are free to repeat.
bool is_leaf(const Uop& u);

}  // namespace mote
