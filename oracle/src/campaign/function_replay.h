// SPDX-License-Identifier: Apache-2.0
// A function is in no library that `mote replay` could load, so that its cases are run again by the
// program that has it: the case is in the environment, and each check of the program asks whether
// it is meant.
#pragma once

#include <optional>
#include <string>

#include "mote/oracle/case.h"
#include "mote/oracle/resolve.h"

namespace mote {

inline constexpr const char* kReplayVariable = "MOTE_REPLAY";

struct Replay {
  std::optional<Case> mine;   ///< the one case that is to be run
  std::string not_mine = {};  ///< else what the case is of
};

/// The replay that $MOTE_REPLAY asks of a check of the function `name` against an op; nullopt where
/// it is not set. Throws Error where it is no case.
std::optional<Replay> asked_replay(const std::string& op, const Resolved& resolved,
                                   const std::string& name);

/// The shell command that runs the case again: MOTE_REPLAY='…' COMMAND.
std::string replay_by(const std::string& command, const Case& c);

}  // namespace mote
