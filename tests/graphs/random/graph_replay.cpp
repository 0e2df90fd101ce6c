// SPDX-License-Identifier: Apache-2.0
#include "graph_replay.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "mote/base/error.h"
#include "mote/symbolic/text.h"

namespace mote::test {
namespace {

/// Returns the rest of the line that begins with `key`.
std::string comment(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key)) return line.substr(key.size());
  throw Error("replay: a line '" + key + "…' is missing");
}

}  // namespace

std::string replay_text(const GraphFailure& failure) {
  std::string what;  // further lines are comments too
  for (const char c : failure.what) what += c == '\n' ? std::string("\n#   ") : std::string(1, c);
  return "# what " + what + "\n# data " + to_string(failure.data) + "\n# leg " + failure.leg +
         "\n" + to_text(failure.graph);
}

GraphFailure parse_graph_replay(const std::string& text) {
  return {parse_graph(text), parse_data(comment(text, "# data ")), comment(text, "# leg "),
          comment(text, "# what ")};
}

std::string write_replay(const GraphFailure& failure, const std::string& name) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / (name + ".graph");
  std::ofstream(file) << replay_text(failure);
  return "MOTE_REPLAY=" + file.string() + " random_graphs_test";
}

}  // namespace mote::test
