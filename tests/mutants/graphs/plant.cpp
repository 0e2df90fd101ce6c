// SPDX-License-Identifier: Apache-2.0
// Writes a source file with planted defects: each replaces one text of it by another, in which `@`
// is true while the defect is on. What is shipped has no trace of them.
//
//   plant DEFECTS FILE OUT      FILE as DEFECTS names it, relative to the current folder
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "defects.h"

namespace {

using mote::test::GraphDefect;

std::string contents(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Returns the replacement with each `@` turned into the question whether the defect is on.
std::string wrong_text(const std::string& wrong, std::size_t number) {
  std::string text;
  for (const char c : wrong)
    text += c == '@' ? "(mote_graph_defect == " + std::to_string(number) + ")" : std::string(1, c);
  return text;
}

std::string planted(const std::string& defects_path, const std::string& path) {
  std::string source = contents(path);
  std::size_t number = 0;
  for (const GraphDefect& defect : mote::test::read_defects(contents(defects_path))) {
    ++number;
    if (defect.file != path) continue;
    for (const mote::test::DefectEdit& edit : defect.edits) {
      const std::size_t at = source.find(edit.right);
      if (at == std::string::npos || source.find(edit.right, at + 1) != std::string::npos)
        throw std::runtime_error("defect " + defect.name + ": its text must occur once in " + path +
                                 ": " + edit.right);
      source.replace(at, edit.right.size(), wrong_text(edit.wrong, number));
    }
  }
  return "extern int mote_graph_defect;  // 0: none\n#line 1 \"" + path + "\"\n" + source;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count != 4) throw std::runtime_error("usage: plant DEFECTS FILE OUT");
    const std::string text = planted(arguments[1], arguments[2]);
    std::ofstream(arguments[3]) << text;
  } catch (const std::exception& e) {
    std::cerr << "plant: " << e.what() << "\n";
    return 1;
  }
  return 0;
}
