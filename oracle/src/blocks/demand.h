// SPDX-License-Identifier: Apache-2.0
// Finds which elements of a node are read: if all its readers choose by a condition on the position
// (a window, a mask), other elements need not be computed. For example, scores outside of every
// query's window are never summed up.
#pragma once

#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "mote/uops/uop.h"

namespace mote::blocks {

class Demand {
 public:
  explicit Demand(const std::vector<Uop>& outputs);

  /// Comparisons of positions in the node's shape: an element for which one does not hold is not
  /// read. Empty: all elements may be read.
  std::vector<Uop> conditions(const Uop& u);
  /// The same conditions for an element of what the node sums up, or otherwise reduces.
  std::vector<Uop> conditions_of_terms(const Uop& u, const uop::Reduce& r);

 private:
  /// The condition a op b, in the loops of a node's shape.
  using Condition = std::tuple<MapOp, Expr, Expr>;
  using Conditions = std::vector<Condition>;

  void read_by(const Uop& reader, const Conditions& when);
  void add(const Uop& x, const Conditions& given);
  static void join(Conditions& all, const Conditions& more);
  Conditions choosing(const Uop& condition);
  std::vector<Uop> nodes_of(const Conditions& all, const Uop& of);

  std::unordered_map<const UopNode*, Conditions> seen_;
  std::map<std::tuple<std::vector<Expr>, Condition>, Uop> made_;  ///< one node for each condition
};

}  // namespace mote::blocks
