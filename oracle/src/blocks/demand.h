// SPDX-License-Identifier: Apache-2.0
// Which elements of a node anybody looks at: where all its readers choose by a condition on the
// position (a window, a mask), it need not be computed elsewhere. Scores that no query sees are
// never summed up.
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

  /// Comparisons of positions in the node's shape: where one does not hold the element is not
  /// looked at. None: all of them may be.
  std::vector<Uop> conditions(const Uop& u);
  /// The same of an element of what the node sums up, or otherwise reduces.
  std::vector<Uop> conditions_of_terms(const Uop& u, const uop::Reduce& r);

 private:
  /// a op b, in the loops of some node's shape.
  using Condition = std::tuple<MapOp, Expr, Expr>;
  using Conditions = std::vector<Condition>;

  void read_by(const Uop& reader, const Conditions& when);
  void add(const Uop& x, const Conditions& given);
  static void join(Conditions& all, const Conditions& more);
  Conditions choosing(const Uop& condition);
  std::vector<Uop> nodes_of(const Conditions& all, const Uop& of);

  std::unordered_map<const UopNode*, Conditions> seen_;
  std::map<std::tuple<std::vector<Expr>, Condition>, Uop> made_;  ///< one node for a condition
};

}  // namespace mote::blocks
