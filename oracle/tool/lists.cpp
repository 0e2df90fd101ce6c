// SPDX-License-Identifier: Apache-2.0
// Adds options that several commands have.
#include <filesystem>

#include "commands.h"
#include "mote/oracle/quantity.h"

namespace mote::tool {

CLI::Option* add_list(CLI::App& command, const std::string& option,
                      std::vector<std::string>& values, const std::string& type,
                      const std::string& about) {
  return command.add_option(option, values, about + " (repeat, or a,b)")
      ->option_text(type)
      ->allow_extra_args(false);
}

void add_grad(CLI::App& command, int& order) {
  command.add_flag("--grad", order, "its gradient; --grad --grad: the gradient's");
}

void add_subject_options(CLI::App& command, SubjectOptions& options) {
  command
      .add_option("--timeout", options.limit,
                  "most time for a call; default: 10 s and 1 s for 10 million multiply-adds")
      ->type_name("TIME");
  command
      .add_option("--warm-up", options.warm_up,
                  "most time beyond that for the first call in a process; default: 30 s")
      ->type_name("TIME");
  command
      .add_option("--subject-memory", options.memory,
                  "most memory for a subject; default: 1 GiB and 8 times what the case takes")
      ->type_name("BYTES");
  command.add_flag("--in-process", options.in_process,
                   "run the subject in this process, for a debugger: a crash ends it");
}

void add_color(CLI::App& command, std::string& color) {
  command.add_option("--color", color, "default auto: on a terminal, unless NO_COLOR is set")
      ->type_name("auto|always|never");
}

void set_subject_options(const SubjectOptions& options, CaseRunOptions& run) {
  if (!options.limit.empty()) run.limit_s = parse_seconds("timeout", options.limit);
  if (!options.warm_up.empty()) run.warm_up_s = parse_seconds("warm-up", options.warm_up);
  if (!options.memory.empty()) run.subject_memory = parse_bytes("subject-memory", options.memory);
}

std::vector<std::string> split_paths(const std::vector<std::string>& texts) {
  std::vector<std::string> paths;
  for (const std::string& text : texts) {
    std::error_code ignored;
    std::size_t comma = std::filesystem::exists(text, ignored) ? text.npos : text.find(',');
    std::size_t begin = 0;
    for (; comma != std::string::npos; comma = text.find(',', begin)) {
      paths.push_back(text.substr(begin, comma - begin));
      begin = comma + 1;
    }
    paths.push_back(text.substr(begin));
  }
  return paths;
}

}  // namespace mote::tool
