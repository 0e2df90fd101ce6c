// SPDX-License-Identifier: Apache-2.0
// Running another program, without a shell.
#pragma once

#include <string>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

struct CommandResult {
  bool ok = false;       ///< it was started and exited with 0
  std::string output;    ///< what it wrote to its standard output
  std::string messages;  ///< what it wrote to its standard error; why it could not be started
};

/// Finds the first word as a shell does; its input is /dev/null.
CommandResult run_command(const std::vector<std::string>& words);

/// The words of an environment variable such as $CC ("ccache gcc"), or the word `otherwise` where
/// it is not set.
std::vector<std::string> command_named(const char* variable, const char* otherwise);

}  // namespace mote
