// SPDX-License-Identifier: Apache-2.0
// The compiler's oracle for one program: evaluate = interpreter of the plainest loops = of lower's
// loops = after each pass = compiled C, on several sets of sizes and data, bit for bit. All NaNs
// are alike; -0 and +0 differ, because quotients by them do.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiled_c.h"
#include "mote/codegen/loops.h"
#include "trial.h"

namespace mote::test {

struct Mismatch {
  std::string
      stage;  ///< "per-uop", "lower", a pass, "c"; "compile" for an exception during compilation
  std::string message;  ///< the text of the exception, or empty
  std::string output;   ///< the output's name
  std::vector<std::int64_t> index;
  Number expected;
  Number got;
  std::optional<Trial> trial;  ///< none if the mismatch shows without data
};
std::string to_string(const Mismatch& m);

struct CheckOptions {
  bool run_c = true;
  bool interpret = true;  ///< the loops of each stage; otherwise they are only verified
  int schedules = 2;      ///< the number of schedules that are drawn for each program
  /// A wrong pass, for tests of the oracle itself: it runs after lower, as the stage "planted".
  std::function<LoopProgram(LoopProgram)> planted;
};

/// A program and its compiled stages, between the stages that need no C and the C itself.
struct Prepared {
  std::shared_ptr<const Program> program;
  std::vector<Trial> trials;
  std::vector<std::vector<Array>> inputs;
  std::vector<std::vector<Array>> expected;
  /// The outputs of each trial that are exact in f32 in any order of sums: in those the variants gen
  /// must agree too.
  std::vector<std::vector<bool>> exact;
  std::optional<LoopProgram> final;
  int schedules = 0;  ///< the number that is drawn
  bool interprets = true;
  std::set<std::string> stages;  ///< lower, and the passes that changed the program
};

/// Checks all stages except the C; on success `prepared` holds the input of run_c.
std::optional<Mismatch> check_stages(const Program& p, const std::vector<Trial>& trials,
                                     const CheckOptions& options, Prepared& prepared);
/// Adds a trial with its inputs and expected results.
void add_trial(Prepared& prepared, const Trial& t);
/// Adds trials for the C alone, whose sizes lie around the tiles of the program's schedules.
void add_tile_trials(Prepared& prepared, const CBatch& batch, int k, std::uint64_t seed);
/// Compares the results of `run` with the expected ones, for each output that is exact in f32 in
/// any order of sums. `stage` begins with "gen": zeros of either sign are alike.
std::optional<Mismatch> check_gen(const Prepared& prepared, const std::string& stage,
                                  const std::function<std::vector<Array>(std::size_t)>& run,
                                  bool multiplies_padding = false);
/// Checks program k of a compiled batch against the expected results.
std::optional<Mismatch> check_c(const Prepared& prepared, const CBatch& batch, int k);

/// Checks all stages of one program; nullopt if all agree. Throws Error if the program itself
/// cannot be evaluated on a trial.
std::optional<Mismatch> check_program(const Program& p, const std::vector<Trial>& trials,
                                      const CheckOptions& options = {});

}  // namespace mote::test
