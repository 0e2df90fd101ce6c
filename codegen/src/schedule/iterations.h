// SPDX-License-Identifier: Apache-2.0
// Whether the rounds of a loop may run in any order, or at once: what every step of a schedule asks
// before it is taken.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// The accumulators that statements in the loop fold into but that no loop in it declares: those of
/// loops around it.
std::set<std::string> outer_folds(const Loop& loop);
/// Some loop is inside.
bool holds_loop(const Body& body);

/// No round of the loop `s`, a statement of p, touches what another one writes, but for temporaries
/// that each round fills before it reads them: those are returned, to be given to each round.
/// nullopt: the rounds may depend on one another. Accumulators are not looked at. A loop of one
/// round is independent of what it touches.
std::optional<std::set<std::string>> independent_iterations(const LoopProgram& p, const Stmt& s);

/// A loop, and those right below it, whose rounds may all run at once.
struct SharedLoops {
  std::vector<const Loop*> loops;  ///< outermost first; each body but the last's is just the next
  std::set<std::string> own;       ///< temporaries that each round fills before it reads them
};
/// Those from the statement `s` of p down; nullopt where `s` is no loop, or folds into an
/// accumulator, or where its rounds may depend on one another.
std::optional<SharedLoops> shared_loops(const LoopProgram& p, const Stmt& s);

/// Throws InternalError for a loop that is marked parallel or simd and whose rounds are not
/// independent, and for a temporary that is touched outside the rounds it lives in.
void verify_iterations(const LoopProgram& p);

}  // namespace mote
