// SPDX-License-Identifier: Apache-2.0
// Reads a reduction as one sum over independent ranges: `for k { if c { for l in 0..min(L, k) { s
// += f } } }` becomes ranges of k and l, and conditions under which a term counts.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/dependence.h"
#include "schedule/iterations.h"

namespace mote {

/// Returns the variables of the loops over blocks among these.
std::set<Symbol> blocks_of(const std::vector<const Loop*>& loops);

/// Returns the loop's range with limits of sizes, parameters and `fixed` variables; appends its
/// other limits as conditions. Returns nullopt if no such expression bounds it, or if its step is
/// not 1.
std::optional<LoopRange> range_of(const Loop& loop, Conditions& conditions,
                                  const std::set<Symbol>& fixed = {});
/// Returns an expression of sizes and parameters that the number of iterations does not exceed: in
/// a block, the block's. Returns nullopt if there is none.
std::optional<Expr> greatest_extent(const LoopRange& range);

struct ReductionNest {
  /// The loops, outermost first; limits depend on sizes, parameters and fixed variables alone.
  std::vector<LoopRange> loops;
  /// Limits that depend on loops of the nest or around it, and branches.
  Conditions conditions;
  std::vector<Fold> folds;  ///< names that the innermost body binds are replaced by their values
};

/// `facts` hold around the loop. Returns nullopt if the loop folds at several depths, remembers
/// positions, does more than folding, or has limits that range_of() cannot bound.
std::optional<ReductionNest> reduction_nest(const Loop& reduction, Facts facts,
                                            const std::set<Symbol>& fixed = {});

/// Returns the body under the conditions, if there are any.
Body under(Conditions conditions, Body body);
/// Returns the body in loops over the ranges, of which the first is the outermost.
Body in_loops(const std::vector<LoopRange>& ranges, Body body);
/// Returns the facts inside the loops of the chain, of which no tensor has a negative extent.
Facts facts_in(const LoopProgram& p, const SharedLoops& chain);

}  // namespace mote
