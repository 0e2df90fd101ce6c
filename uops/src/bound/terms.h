// SPDX-License-Identifier: Apache-2.0
// Finds products below sums: the multiplications that feed a sum, and the terms of a sum whose
// terms are themselves sums of products.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "bound/value.h"

namespace mote::bounds {

/// Returns the terms of the elements of r.x that u reads, and of the fill if it reads none.
Pending moved_terms(const Uop& u, const uop::Reindex& r, const Pending& of, const Context& c);

/// Marks products in sums. sum(a b + c d) may be computed as sum(a b) + sum(c d), or by one chain
/// of fused multiply-adds: products that are added, subtracted or chosen within one term are each a
/// term of the sum.
class SummedProducts {
 public:
  /// Finds the multiplications that sums take as they are, these sums, and the values that another
  /// value is computed from.
  void mark(const Uop& output, Context& c);
  /// Returns true if the sum of x adds several products in one term.
  bool has_several(const Uop& x) const { return several_.contains(x.id()); }
  /// Returns the terms that the sum of u adds, in any order; `at` gives the intervals of u's
  /// operands.
  const Pending& terms_of(const Uop& u, const std::function<const Interval&(const Uop&)>& at,
                          const Context& c);

 private:
  bool mark_terms(const Uop& x, Context& c);
  Pending find(const Uop& u, const std::function<const Interval&(const Uop&)>& at,
               const Context& c);

  std::unordered_set<const UopNode*> several_;  ///< arguments of such sums
  std::unordered_map<const UopNode*, Pending> found_;
};

}  // namespace mote::bounds
