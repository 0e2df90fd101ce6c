// SPDX-License-Identifier: Apache-2.0
// Lowers uops to loops and runs the passes over loops. Each pass is in a file of its own, keeps the
// meaning bit for bit, and leaves a program that verify() accepts.
#pragma once

#include <functional>
#include <utility>

#include "mote/base/export.h"
#include "mote/codegen/loops.h"

namespace MOTE_API mote {

/// Pulls values through Map and Reindex, composing index maps; materialises only what must be:
/// outputs, reductions used more than once or at a non-injective index, indices of Select.
LoopProgram lower(std::shared_ptr<const Program> program);
/// Lowers each uop to one nest: the plainest loops, as a reference for lower().
LoopProgram lower_per_uop(std::shared_ptr<const Program> program);

/// Turns t = c ? v : f into a store under c, and loads of t into c ? t : f.
LoopProgram unguard(LoopProgram p);
/// Replaces a loop of few iterations whose sums ask for their iteration, g == 2 ? v : 0, by a copy
/// of its body for each.
LoopProgram unroll(LoopProgram p);
/// Splits a loop over A·c whose body has v/c and v%c into two.
LoopProgram split(LoopProgram p);
/// Merges loops with equal limits if the dependences allow it.
LoopProgram fuse(LoopProgram p);
/// Replaces a temporary that is written once and read once, or trivial, by its value.
LoopProgram substitute(LoopProgram p);
/// Removes from temporaries the axes of common loops; one of rank 0 becomes a Let.
LoopProgram contract(LoopProgram p);
LoopProgram eliminate_dead_code(LoopProgram p);
/// Removes conditions and parts of expressions that the context decides.
LoopProgram simplify(LoopProgram p);
/// Turns range guards into loop limits, and divisibility into a stride.
LoopProgram tighten(LoopProgram p);
/// The former name of tighten(); it will be removed in version 0.3.
inline LoopProgram bound(LoopProgram p) { return tighten(std::move(p)); }
/// Stores a temporary that is read only under conditions only under them, and computes only under
/// them what only that store needs.
LoopProgram demand(LoopProgram p);
/// Makes a body compute the values that it stores in outputs before it stores the first that, in an
/// in-place call (in_place.h), shares memory with an input that the others read.
LoopProgram defer(LoopProgram p);
/// Lets a temporary take the storage of a later temporary, or of an output that does not round, if
/// its life ends there before the other's begins.
LoopProgram coalesce(LoopProgram p);

struct Pass {
  const char* name;
  LoopProgram (*run)(LoopProgram);
};
/// Returns the passes in the order in which they run after lower.
std::span<const Pass> passes();

/// Runs lower, then every pass; debug builds verify after each. `observe` sees the program after
/// lower and after each pass that changed it. Errors are prefixed with "while lowering NAME" or "in
/// pass P of NAME".
LoopProgram compile(const std::shared_ptr<const Program>& program,
                    const std::function<void(const char* stage, const LoopProgram&)>& observe = {});

}  // namespace mote
