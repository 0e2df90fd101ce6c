// SPDX-License-Identifier: Apache-2.0
// Takes one step of a schedule. In: a version and a step; out: the version after it, or why the
// step cannot be taken.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mote/codegen/schedule.h"
#include "schedule/paths.h"

namespace mote {

/// The reason why a step cannot be taken, such as the dependence that forbids it; nullopt if it was
/// taken.
using Refusal = std::optional<std::string>;
/// The reason that iterations of the step's first loop may depend on one another. why_dependent()
/// says how; it takes longer than the step does, and most refusals are not shown.
inline const std::string kDependent;

/// Takes the step and adds it to the version's steps. After a refusal the version is as it was.
Refusal take(Version& v, const Step& step, const ScheduleOptions& options);

/// Removes loops that run once, which a step makes of a loop of few iterations. The passes leave
/// none, so other programs stay as they are.
void remove_loops_that_run_once(LoopProgram& p);

// The steps, each on names that the program has. They do not add themselves to the version's steps;
// `effect` gets what they did besides.
/// Reads may go on by `widest` elements from one iteration to the next.
Refusal run_in_vectors(LoopProgram& p, const Path& loop, bool asks_version, std::int64_t widest,
                       std::string& effect);
Refusal share_among_threads(LoopProgram& p, const Path& first,
                            const std::vector<StepTarget>& loops);
/// Returns why the temporaries cannot be new in each iteration of the loops: one is local to an
/// iteration of a loop around them, as a tile's array is.
Refusal why_not_own(const LoopProgram& p, const Path& innermost,
                    const std::vector<StepTarget>& loops, const std::set<std::string>& own);
/// Returns the shortest of those parts of a loop's limit, which is their minimum or maximum (the
/// kind), that do not change with loops: each bounds the number of iterations. Returns the limit if
/// there is none.
Expr unchanging(const Expr& limit, Atom::Kind kind);
/// Shares the loops, which may be shared, from the one at the path on; each iteration has `own`
/// temporaries.
void mark_shared(LoopProgram& p, const Path& first, const std::vector<StepTarget>& loops,
                 const std::set<std::string>& own);
Refusal split(LoopProgram& p, const Path& loop, std::int64_t amount);
Refusal interchange(LoopProgram& p, const Path& loop);
Refusal move_inward(LoopProgram& p, const Path& loop, std::int64_t tile, std::string& effect);
/// Puts parts of the loop's iterations outside of the loops that hold it.
Refusal move_outward(LoopProgram& p, const Path& loop, std::int64_t amount, std::string& effect);
Refusal rely_on_adjacent(LoopProgram& p, const std::string& variable);
Refusal repeat(LoopProgram& p, const std::string& tensor, std::int64_t axis);

/// Returns why loops of the statement may not be changed: one of them has a kind already.
Refusal why_not_serial(const Stmt& s);
/// Returns why the loop has no use for parts of that many iterations: it never has more.
Refusal why_one_part(const Loop& loop, std::int64_t amount);
/// Returns why loops around the one at the path may not be changed, likewise.
Refusal why_not_serial_around(const LoopProgram& p, const Path& path);

}  // namespace mote
