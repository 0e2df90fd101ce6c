// SPDX-License-Identifier: Apache-2.0
// Runs another program, without a shell.
#pragma once

#include <string>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

struct CommandResult {
  bool ok = false;       ///< the program was started and exited with 0
  std::string output;    ///< its standard output
  std::string messages;  ///< its standard error, or why it could not be started
};

/// Runs the program named by the first word, found as a shell does; its input is /dev/null.
CommandResult run_command(const std::vector<std::string>& words);

/// Returns the words of an environment variable such as $CC ("ccache gcc"), or the word `otherwise`
/// if it is not set.
std::vector<std::string> command_named(const char* variable, const char* otherwise);

}  // namespace mote
