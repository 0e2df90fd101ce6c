// SPDX-License-Identifier: Apache-2.0
// Turns the loops of compile() into versions of them whose loops say how they run, as the last
// stage before gen C. A version is right only if some strides are 1 (or 0) and some sizes are
// large enough; the last is right for any.
#pragma once

#include <span>
#include <optional>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/codegen/loops.h"
#include "mote/codegen/steps.h"

namespace MOTE_API mote {

/// A step, and what it did besides: the arrays, the panels.
struct TakenStep {
  Step step;
  std::string effect;
};

struct Version {
  std::string name;  ///< a word that distinguishes it from the others; the last has none
  std::vector<TakenStep> steps;  ///< taken on the loops of compile(), in order
  LoopProgram program;           ///< native; it relies on program.strides and program.demands
  /// Calls for which these hold are fast. Others that it is right for try it after all versions in
  /// whose loops reductions are innermost.
  Conditions preferences = {};
  /// Calls without these preferences try the version directly behind the next one if these
  /// conditions hold; nullopt: no call does.
  std::optional<Conditions> preferences_behind_next = {};
};

/// Returns true if the version has a step of that kind.
bool has_step(const Version& v, StepKind kind);
std::vector<Step> steps_of(const Version& v);
/// Returns the steps on one line, and what each did besides on lines of their own.
std::string steps_text(const Version& v);

/// The versions, in the order in which they are tried.
struct Schedule {
  std::vector<Version> versions;
};

/// A tile of sums in vector registers, for processors whose registers have `vector_bytes` bytes:
/// `vectors` of them side by side in each of `rows` rows.
struct RegisterShape {
  int vector_bytes;
  int vectors;
  int rows;
};

struct ScheduleOptions {
  /// Terms outside of a tensor may be computed as products with 0: the op has the form
  /// `padding_multiplied` (docs/bound.md).
  bool may_multiply_padding = false;
  /// The tiles to make versions with, the widest first, as tools/search_tiles.py finds them: few
  /// registers are idle, the others hold operands.
  std::vector<RegisterShape> shapes = {{64, 2, 8}, {32, 2, 6}, {16, 2, 6}};
  /// The iterations of the last loop but one that a block of a tile's sums has.
  std::int64_t block = 16;
  /// The tiles of rows that share a panel of a window: it stays in the second-level cache, and
  /// threads share the blocks of a long line.
  std::int64_t tiles = 8;
  /// The least number of iterations for which a window slides, or another loop than the last is
  /// taken innermost.
  int least_iterations = 8;
  /// The rows of a reduction that are read side by side.
  int rows = 8;
  /// The sums of 32 bits that a loop which is taken innermost keeps in registers.
  int sums = 64;
};

/// Applies each step only if the dependences of the program allow it. Results differ from p's only
/// by rounding and by the order of sums; in exact arithmetic they are equal. An f32 output may be
/// read back if it keeps a value that is computed in float anyway.
Schedule schedule(const LoopProgram& p, const ScheduleOptions& options = {});

/// Takes the steps on the loops of compile(), in order; the steps of a version of schedule() give
/// that version again. Throws Error that names the op and the step, for a loop that is not there,
/// and with the dependence that forbids the step if there is one.
Version scheduled_by(const LoopProgram& p, std::span<const Step> steps,
                     const ScheduleOptions& options = {});
/// Returns the schedule of that version and, if it relies on anything, of one for all other calls.
Schedule schedule_by(const LoopProgram& p, std::span<const Step> steps,
                     const ScheduleOptions& options = {});

/// Runs verify() on every version.
void verify(const Schedule& s);

/// Returns the steps and loops of every version.
std::string to_string(const Schedule& s);

}  // namespace mote
