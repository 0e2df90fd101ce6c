// Reductions of which only some elements count: where a condition on an element's position does not
// hold it is the neutral one (a window, a mask, what lies in the padding). Those elements are left
// out, with all that they would be computed from.
#pragma once

#include <optional>
#include <vector>

#include "as.h"
#include "index.h"
#include "mote/uops/uop.h"

namespace mote::blocks {

struct Thin {
  /// Comparisons of integers that are positions or numbers; all hold where an element counts.
  std::vector<Uop> conditions;
  Uop x;  ///< what is reduced, as it is where they hold
};

/// Nothing: every element counts, or the elements are not computed from others at their own place
/// and at places that are fixed.
std::optional<Thin> thinned(const uop::Reduce& r);

/// The share of a shape's elements of which the conditions hold, from some of them.
double chosen_share(const std::vector<Uop>& conditions, const Extents& shape, const Sizes& sizes);

/// The elements of rows of which the conditions hold.
class Chosen {
 public:
  Chosen(const std::vector<Uop>& conditions, const Rows& rows, const Sizes& sizes);

  /// Of the row that the walk is at: positions along it.
  const Extents& row(const Walk& walk);

 private:
  struct Condition {
    MapOp op;
    IndexFunction a, b;
  };
  void choose(const Walk& walk, Extents& list);

  const Rows& rows_;
  std::vector<Condition> conditions_;
  Extents strides_;             ///< of the lists, by axis; 0: it makes no difference
  std::vector<Extents> lists_;  ///< of all rows that differ, or one for the row at hand
  std::vector<char> known_;
  bool keeps_ = true;
  Extents a_, b_;
};

}  // namespace mote::blocks
