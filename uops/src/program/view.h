// SPDX-License-Identifier: Apache-2.0
// Views the graph as a person would write it: without the nodes that builders insert by themselves.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "mote/uops/uop.h"

namespace mote {

bool is_bare(const Uop& u);  ///< true for a Scalar or a Param: written as a literal or $name

/// A Reduce, or the quotient that mean() builds.
struct ReduceView {
  std::string_view name;
  Uop x;
  std::vector<int> axes;
};
std::optional<ReduceView> reduce_view(const Uop& u);

/// Returns true if u is exactly a reduction whose axes are kept with extent 1.
bool kept_view(const Uop& u);

/// A node as it appears in the text of another one; `keeping`: a reduction with its axes kept.
struct Use {
  Uop u;
  bool keeping;
};

class ProgramView {
 public:
  /// The nodes that are written, operands first.
  std::vector<Uop> order;

  /// Returns the operands that the text of u shows, in order. Arguments of a Map come without the
  /// repetition of axes that map() inserts by itself.
  std::vector<Use> written(const Uop& u) const;
  int uses(const Uop& u) const;
  /// Returns true if every use of the reduction u shows it with its axes kept.
  bool keeps(const Uop& u) const;

 private:
  friend ProgramView view_program(const std::vector<Uop>& roots);
  std::unordered_set<const UopNode*> plain_;  ///< nodes that some use shows as they are
  std::unordered_map<const UopNode*, int> uses_;
};

ProgramView view_program(const std::vector<Uop>& roots);

}  // namespace mote
