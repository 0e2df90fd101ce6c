// SPDX-License-Identifier: Apache-2.0
// Reads the environment, and writes the command line of this process as a shell reads it.
#include "campaign/function_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <vector>

#include "mote/base/error.h"
#include "mote/base/for_shell.h"
#include "mote/oracle/function.h"
#include "mote/oracle/target.h"

namespace mote {
namespace {

/// True if the function takes the case's inputs; it gets NULL for those that the case lacks.
bool is_same_instance(const Case& c, const Resolved& resolved) {
  return !resolved.instance || (c.instance.dtype == resolved.instance->dtype &&
                                (c.instance.input_mask & ~resolved.instance->input_mask) == 0);
}

}  // namespace

std::optional<Replay> asked_replay(const std::string& op, const Resolved& resolved,
                                   const std::string& name) {
  const char* text = std::getenv(kReplayVariable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  Replay replay;
  try {
    replay.only = parse_case(text);
  } catch (const Error& e) {
    throw Error(fmt::format("{}: {}", kReplayVariable, e.what()));
  }
  const Case& c = *replay.only;
  if (c.target->text() == op && is_same_instance(c, resolved) &&
      (c.backend.empty() || c.backend == name))
    return replay;
  replay.of_another = fmt::format("{} is a case of {}{}{}", kReplayVariable, c.target->text(),
                                  c.backend.empty() ? "" : " on ", c.backend);
  if (c.target->text() == op && (c.backend.empty() || c.backend == name))
    replay.of_another += " in another dtype or with other inputs";
  replay.only.reset();
  return replay;
}

std::string replay_by(const std::string& command, const Case& c) {
  Case without_library = c;
  without_library.plugin.clear();
  return fmt::format("{}={} {}", kReplayVariable, for_shell(to_string(without_library)), command);
}

std::string program_command(const std::vector<std::string>& more, const std::string& without) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string command;
  bool is_first = true;
  for (std::string word; std::getline(file, word, '\0'); is_first = false) {
    if (!is_first && !without.empty() && word.starts_with(without)) continue;
    command += (is_first ? "" : " ") + for_shell(word);
  }
  for (const std::string& word : more) command += " " + for_shell(word);
  return command;
}

std::string name_of_function(std::string_view expression) {
  expression = expression.substr(0, expression.find(','));
  const auto is_blank = [](char ch) { return ch == ' ' || ch == '&'; };
  while (!expression.empty() && is_blank(expression.front())) expression.remove_prefix(1);
  while (!expression.empty() && is_blank(expression.back())) expression.remove_suffix(1);
  const auto is_part = [](char ch) {
    return std::isalnum(static_cast<unsigned char>(ch)) != 0 ||
           std::string_view("_:<>").find(ch) != std::string::npos;
  };
  const bool is_name = !expression.empty() && std::ranges::all_of(expression, is_part);
  return is_name ? std::string(expression) : kUnnamedFunction;
}

}  // namespace mote
