// SPDX-License-Identifier: Apache-2.0
// Reductions of which only some elements count: where a condition on an element's position does not
// hold it is the neutral one (a window, a mask, what lies in the padding). Those elements are left
// out, with all that they would be computed from.
#pragma once

#include <optional>
#include <unordered_map>
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

/// By Reduce, or by Map whose value is kept.
using Thins = std::unordered_map<const UopNode*, Thin>;

/// Nothing: every element counts, or the elements are not computed from others at their own place
/// and at places that are fixed. Where `also` do not hold an element may be left out too.
std::optional<Thin> thinned(const uop::Reduce& r, const std::vector<Uop>& also);

/// An element of x can be computed apart from its neighbours, from reads at places that are fixed.
bool is_apart(const Uop& x);

/// Of what stands between `and`s the comparisons of positions and numbers.
std::vector<Uop> position_conditions(const Uop& condition);
Expr position_of(const Uop& u);

/// The share of a shape's elements of which the conditions hold, from some of them.
double chosen_share(const std::vector<Uop>& conditions, const Extents& shape, const Sizes& sizes);

}  // namespace mote::blocks
