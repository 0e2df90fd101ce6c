// SPDX-License-Identifier: Apache-2.0
// Decides whether the iterations of a loop may run in any order, or in parallel, which every step
// of a schedule asks before it is taken.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// Returns the accumulators that statements in the loop fold into but that neither the loop nor one
/// in it declares: those of loops around it.
std::set<std::string> outer_folds(const Loop& loop);
/// Returns true if there is a loop in the body.
bool holds_loop(const Body& body);

/// Returns the temporaries that each iteration of the loop `s`, a statement of p, fills before it
/// reads them, and that each iteration must have for itself. Apart from these, no iteration
/// accesses elements that another one writes. Returns nullopt if iterations may depend on one
/// another. Accumulators are not considered. A loop of one iteration is independent of its
/// accesses.
std::optional<std::set<std::string>> independent_iterations(const LoopProgram& p, const Stmt& s);

/// Returns why the iterations of the loop `s` may depend on one another: the accumulators that they
/// fold into, or two accesses; empty if they are independent.
std::string why_dependent(const LoopProgram& p, const Stmt& s);

/// Returns the loops over parts if consecutive iterations of the loop `parts` may run as one, in
/// which these loops run over all of their parts; empty if they may not. The iterations are
/// independent, apart from these loops all of them do the same, and none reads what these loops
/// leave in a temporary of an iteration.
std::vector<const Loop*> mergeable_parts(const LoopProgram& p, const Stmt& parts);

/// A loop, and those directly below it, whose iterations may all run in parallel.
struct SharedLoops {
  std::vector<const Loop*> loops;  ///< outermost first; each body is just the next loop
  std::set<std::string> own;       ///< temporaries that each iteration fills before it reads them
};
/// Returns the shared loops from the statement `s` of p down; nullopt if `s` is not a loop, or
/// folds into an accumulator, or if its iterations may depend on one another.
std::optional<SharedLoops> shared_loops(const LoopProgram& p, const Stmt& s);

/// Throws InternalError for a loop whose iterations run together and are not independent, and for a
/// temporary that is accessed outside the iterations that it is local to.
void verify_iterations(const LoopProgram& p);
/// Throws InternalError for a loop within a block that is not in an iteration of a grid, a store
/// that several threads of a block would do, a barrier that only some of them may reach, and
/// accesses of several threads that no barrier puts in order.
void verify_blocks(const LoopProgram& p);

}  // namespace mote
