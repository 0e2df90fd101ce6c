// SPDX-License-Identifier: Apache-2.0
// The planted defects of the graph layers, as defects.txt lists them.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace mote::test {

/// A text that occurs once in a source, and what stands there instead: `@` in it is true while the
/// defect is on.
struct DefectEdit {
  std::string right;
  std::string wrong;
};

struct GraphDefect {
  std::string name;
  std::string says;  ///< what is wrong
  std::string file;  ///< the source that it is planted in
  std::vector<DefectEdit> edits;
};

/// Reads "defect NAME: TEXT", "file PATH", and edits: lines that begin with "- ", then "+ ". A line
/// that begins with # is a comment.
inline std::vector<GraphDefect> read_defects(const std::string& text) {
  std::vector<GraphDefect> defects;
  std::istringstream lines(text);
  bool was_right = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    if (line.starts_with("defect ")) {
      const std::size_t colon = line.find(": ");
      if (colon == std::string::npos) throw std::runtime_error("expected 'defect NAME: TEXT'");
      defects.push_back({line.substr(7, colon - 7), line.substr(colon + 2), "", {}});
      continue;
    }
    if (defects.empty()) throw std::runtime_error("expected 'defect NAME: TEXT' before " + line);
    GraphDefect& defect = defects.back();
    if (line.starts_with("file ")) {
      defect.file = line.substr(5);
    } else if (line.starts_with("- ")) {
      if (!was_right) defect.edits.emplace_back();
      std::string& right = defect.edits.back().right;
      right += (right.empty() ? "" : "\n") + line.substr(2);
    } else if (line.starts_with("+ ") && !defect.edits.empty()) {
      std::string& wrong = defect.edits.back().wrong;
      wrong += (wrong.empty() ? "" : "\n") + line.substr(2);
    } else {
      throw std::runtime_error("defect " + defect.name + " has a line that is none: " + line);
    }
    was_right = line.starts_with("- ");
  }
  return defects;
}

}  // namespace mote::test
