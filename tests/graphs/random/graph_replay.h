// SPDX-License-Identifier: Apache-2.0
// A failing graph as a file that replays: comments with the difference, the data and the leg, then
// the graph's text.
#pragma once

#include <string>

#include "shrink_graph.h"

namespace mote::test {

std::string replay_text(const GraphFailure& failure);
/// Reads the text. Throws Error if a comment is missing, and as parse_graph() does.
GraphFailure parse_graph_replay(const std::string& text);
/// Writes the text to a file in the temporary folder; returns the line that replays it.
std::string write_replay(const GraphFailure& failure, const std::string& name);

}  // namespace mote::test
