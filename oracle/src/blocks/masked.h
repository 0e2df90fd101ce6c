// SPDX-License-Identifier: Apache-2.0
// Finds masked reductions, of which only some elements count: if a condition on an element's
// position fails, the element is neutral (a window, a mask, padding). Such elements are left out,
// with all that they would be computed from.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "as.h"
#include "index.h"
#include "mote/uops/uop.h"

namespace mote::blocks {

struct Mask {
  /// Comparisons of integers that are positions or numbers; all hold for an element that counts.
  std::vector<Uop> conditions;
  Uop x;  ///< the reduced value, simplified for elements that count
};

/// The masked nodes: a Reduce, or a Map whose value is kept.
using Masks = std::unordered_map<const UopNode*, Mask>;

/// The masked form of a reduction; nullopt if every element counts, or the elements are not
/// computed from others at their own location and at fixed locations. An element may also be left
/// out if one of `also` fails.
std::optional<Mask> masked(const uop::Reduce& r, const std::vector<Uop>& also);

/// True if an element of x can be computed apart from its neighbours, from reads at fixed
/// locations.
bool is_apart(const Uop& x);

/// The comparisons of positions and numbers in a conjunction.
std::vector<Uop> position_conditions(const Uop& condition);
Expr position_of(const Uop& u);

/// An estimate, from a sample, of the share of a shape's elements for which the conditions hold.
double chosen_share(const std::vector<Uop>& conditions, const Extents& shape, const Sizes& sizes);

}  // namespace mote::blocks
