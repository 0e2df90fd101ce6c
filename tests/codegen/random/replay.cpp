// SPDX-License-Identifier: Apache-2.0
// Writes and reads the text of a failure.
#include "replay.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace mote::test {
namespace {

constexpr const char* kTrial = "# trial ";

std::string commented(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += "# " + line + "\n";
  return out;
}

}  // namespace

std::string replay_text(const Failure& f) {
  std::string text = commented(to_string(f.mismatch));
  for (const Trial& t : f.trials) text += kTrial + to_string(t) + "\n";
  return text + to_string(f.program);
}

Replay parse_replay(const std::string& text) {
  Replay r;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(kTrial)) r.trials.push_back(parse_trial(line.substr(8)));
  r.program = parse_program(text);
  if (r.trials.empty()) r.trials = make_trials(r.program, 1, 8);
  return r;
}

std::string write_replay(const Failure& f, const std::string& name) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / (name + ".mote");
  std::ofstream(file) << replay_text(f);
  return "MOTE_REPLAY=" + file.string() + " random_programs_test";
}

}  // namespace mote::test
