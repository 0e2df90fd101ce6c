// SPDX-License-Identifier: Apache-2.0
// Replays cases of a function, which is in no library that `mote replay` could load: the program
// that has it runs the case in the environment, and each check of the program asks whether the case
// is for it.
#pragma once

#include <optional>
#include <string>

#include "mote/oracle/case.h"
#include "mote/oracle/resolve.h"

namespace mote {

inline constexpr const char* kReplayVariable = "MOTE_REPLAY";

struct Replay {
  std::optional<Case> only;     ///< the only case to run
  std::string of_another = {};  ///< otherwise: what the case is for
};

/// The replay that $MOTE_REPLAY requests from a check of the function `name` against an op; nullopt
/// if it is not set. Throws Error if it is not a case.
std::optional<Replay> asked_replay(const std::string& op, const Resolved& resolved,
                                   const std::string& name);

/// The shell command that runs the case again: MOTE_REPLAY='…' COMMAND.
std::string replay_by(const std::string& command, const Case& c);

}  // namespace mote
