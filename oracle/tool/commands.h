// SPDX-License-Identifier: Apache-2.0
// The commands of `mote`. Each adds itself to the command line and says what it does when chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "case_groups.h"
#include "mote/oracle/case.h"
#include "mote/oracle/run.h"
#include "output.h"

namespace mote::tool {

/// Runs the chosen command; its value is the exit code, as exit_codes() says.
using Action = std::function<int()>;

void add_check(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_emit(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_mutants(CLI::App& app, Action& action);
void add_ops(CLI::App& app, Action& action);
void add_replay(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);

/// The command line with all that was added to it, for completions and the manual page.
struct ProgramHelp;
ProgramHelp help_of_program(const CLI::App& app);

/// An option whose values come one at a time, so that it takes no positional argument along.
CLI::Option* add_list(CLI::App& command, const std::string& option,
                      std::vector<std::string>& values, const std::string& type,
                      const std::string& about);
/// --grad: the gradient instead; written again for the gradient's gradient.
void add_grad(CLI::App& command, int& order);
/// The options of commands that run subjects: --timeout, --warm-up, --subject-memory and
/// --in-process.
struct SubjectOptions {
  std::string limit = {};
  std::string warm_up = {};
  std::string memory = {};
  bool in_process = false;
};
void add_subject_options(CLI::App& command, SubjectOptions& options);
/// Throws Error for what is no time or no number of bytes.
void set_subject_options(const SubjectOptions& options, CaseRunOptions& run);
/// --color, of the commands whose text has colours.
void add_color(CLI::App& command, std::string& color);
/// Splits at commas what is not the path of something that exists.
std::vector<std::string> split_paths(const std::vector<std::string>& texts);

/// The cases of a file, or the one that the text is.
std::vector<Case> cases_of(const std::string& text);

}  // namespace mote::tool
