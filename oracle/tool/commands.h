// SPDX-License-Identifier: Apache-2.0
// The commands of `mote`. Each adds itself to the command line and sets an action when it is
// chosen.
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

/// Runs the chosen command and returns its exit code (exit_codes()).
using Action = std::function<int()>;

void add_bench(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_emit(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_graph(CLI::App& app, Action& action);
void add_mutants(CLI::App& app, Action& action);
void add_ops(CLI::App& app, Action& action);
void add_replay(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);

/// The command line with all added commands, for completions and the manual page.
struct ProgramHelp;
ProgramHelp help_of_program(const CLI::App& app);

/// Adds an option that takes one value at a time, so that it does not consume positional arguments.
CLI::Option* add_list(CLI::App& command, const std::string& option,
                      std::vector<std::string>& values, const std::string& type,
                      const std::string& about);
/// Adds --grad, which selects the gradient; a repetition selects the gradient's gradient.
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
/// Throws Error for an invalid time or number of bytes.
void set_subject_options(const SubjectOptions& options, CaseRunOptions& run);
/// Adds --color to a command whose text has colours.
void add_color(CLI::App& command, std::string& color);
/// Splits texts at commas, except the path of an existing file.
std::vector<std::string> split_paths(const std::vector<std::string>& texts);

/// Returns why the kernels of an op, by steps or by the search, are none of the variant tf32.
std::string no_tf32(bool by_steps);

/// The cases of a file, or the single case that the text states.
std::vector<Case> cases_of(const std::string& text);

}  // namespace mote::tool
