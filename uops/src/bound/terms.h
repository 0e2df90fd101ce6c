// SPDX-License-Identifier: Apache-2.0
// Products below sums: which multiplications feed one, and what a sum adds where its terms are
// themselves sums of products.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "bound/value.h"

namespace mote::bounds {

/// The terms of what u reads of r.x, and of the fill where it reads nothing.
Pending moved_terms(const Uop& u, const uop::Reindex& r, const Pending& of, const Context& c);

/// sum(a b + c d) may be computed as sum(a b) + sum(c d), or by one chain of fused multiply-adds:
/// products that are added, subtracted or chosen within one term are terms of the sum each.
class SummedProducts {
 public:
  /// Finds the multiplications that sums take as they are, these sums, and the values that
  /// something is computed from.
  void mark(const Uop& output, Context& c);
  /// Whether the sum of x adds several products in one term.
  bool has_several(const Uop& x) const { return several_.contains(x.id()); }
  /// What the sum of u adds, in any order; `at`: the intervals of what u is made of.
  const Pending& terms_of(const Uop& u, const std::function<const Interval&(const Uop&)>& at,
                          const Context& c);

 private:
  bool mark_terms(const Uop& x, Context& c);
  Pending find(const Uop& u, const std::function<const Interval&(const Uop&)>& at,
               const Context& c);

  std::unordered_set<const UopNode*> several_;  ///< what such sums are of
  std::unordered_map<const UopNode*, Pending> found_;
};

}  // namespace mote::bounds
