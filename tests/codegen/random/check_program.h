// SPDX-License-Identifier: Apache-2.0
// The compiler's oracle for one program: evaluate = interpreter of the plainest loops = of lower's
// loops = after each pass = compiled C, on several sets of sizes and data, bit for bit, all
// NaNs alike; -0 and +0 differ, because what divides by them does.
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
  std::string stage;    ///< "per-uop", "lower", a pass, "c"; "compile" for an exception in there
  std::string message;  ///< what was thrown, or empty
  std::string output;   ///< name
  std::vector<std::int64_t> index;
  Number expected;
  Number got;
  std::optional<Trial> trial;  ///< none when no data is needed to see it
};
std::string to_string(const Mismatch& m);

struct CheckOptions {
  bool run_c = true;
  /// A wrong pass, for testing the oracle itself: it runs after lower, as the stage "planted".
  std::function<LoopProgram(LoopProgram)> planted;
};

/// A program and what was compiled from it, between the stages that need no C and the C itself.
struct Prepared {
  std::shared_ptr<const Program> program;
  std::vector<Trial> trials;
  std::vector<std::vector<Array>> inputs;
  std::vector<std::vector<Array>> expected;
  std::optional<LoopProgram> final;
  std::set<std::string> stages;  ///< lower, and the passes that changed something
};

/// All stages but the C; on success `prepared` holds what run_c needs.
std::optional<Mismatch> check_stages(const Program& p, const std::vector<Trial>& trials,
                                     const CheckOptions& options, Prepared& prepared);
/// Program k of a compiled batch against what was expected.
std::optional<Mismatch> check_c(const Prepared& prepared, const CBatch& batch, int k);

/// Everything for one program; nullopt when all agree. Throws Error when the program itself cannot
/// be evaluated on a trial.
std::optional<Mismatch> check_program(const Program& p, const std::vector<Trial>& trials,
                                      const CheckOptions& options = {});

}  // namespace mote::test
