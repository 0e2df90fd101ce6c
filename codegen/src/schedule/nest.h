// SPDX-License-Identifier: Apache-2.0
// Reads a reduction as one sum over independent ranges: `for k { if c { for l in 0..min(L, k) { s
// += f } } }` becomes ranges of k and l, and conditions under which a term counts.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// The values of a loop's variable.
struct LoopRange {
  Symbol variable;
  Expr begin, end;
};

struct ReductionNest {
  /// The loops, outermost first; limits depend on sizes and parameters alone.
  std::vector<LoopRange> loops;
  /// Limits that depend on loops of the nest or around it, and branches.
  Conditions conditions;
  std::vector<Fold> folds;  ///< names that the innermost body binds are replaced by their values
};

/// `facts` hold around the loop. Returns nullopt if the loop folds at several depths, remembers
/// positions, does more than folding, or has limits that no expression of sizes and parameters
/// bounds.
std::optional<ReductionNest> reduction_nest(const Loop& reduction, Facts facts);

/// Returns the symbols in all index expressions of the value.
std::set<Symbol> symbols_of(const Value& v);
bool mentions(const Value& v, Symbol symbol);

}  // namespace mote
