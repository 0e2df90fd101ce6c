// SPDX-License-Identifier: Apache-2.0
// Prints the kernel of an op as C, for readers and for `mote emit`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/codegen/schedule.h"
#include "mote/oracle/resolve.h"

namespace MOTE_API mote {

struct KernelOptions {
  bool gen = false;         ///< variant gen instead of the reference
  bool standalone = false;  ///< it includes the helpers that it calls
  /// With `gen`, the steps to take on the loops, instead of those that schedule() finds. The
  /// kernels for calls without optional inputs have loops of their own, for which it finds them
  /// still.
  std::optional<std::vector<Step>> steps = {};
  /// The loops of the kernel for calls with all inputs, instead of the op's: those that
  /// loops_of_file() gives.
  std::optional<LoopProgram> loops = {};
};

/// Reads a loop program of the op from a file, as `mote explain` prints one ("-": standard input).
/// Throws Error "FILE: …" for text that does not parse, a rule of verify() that is broken, another
/// interface than the op's, and for loops that C does not have.
LoopProgram loops_of_file(const std::string& file, const Resolved& op);

/// Returns the schedule of the op's kernel of variant gen, for calls with all inputs; by the steps
/// if there are some.
Schedule kernel_schedule(const Resolved& op,
                         const std::optional<std::vector<Step>>& steps = std::nullopt);

/// The function mote_<op>_<dtype>, and the functions that it calls when optional inputs are NULL;
/// optional outputs may be NULL too. The function of a program file is mote_<name>.
std::string kernel_c(const Resolved& op, const KernelOptions& options);
std::string kernel_function(const Resolved& op);

}  // namespace mote
