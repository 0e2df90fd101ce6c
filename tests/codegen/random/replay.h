// SPDX-License-Identifier: Apache-2.0
// A failing program as a file that replays: comments with the failure and the trials, then the
// program's text.
#pragma once

#include <string>

#include "shrink.h"

namespace mote::test {

std::string replay_text(const Failure& f);

struct Replay {
  Program program;
  std::vector<Trial> trials;
};
/// Without "# trial" lines the trials are drawn from the program's name.
Replay parse_replay(const std::string& text);

/// Writes the text to a file in the temporary folder; returns the line that replays it.
std::string write_replay(const Failure& f, const std::string& name);

}  // namespace mote::test
