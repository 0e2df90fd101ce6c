// SPDX-License-Identifier: Apache-2.0
// The command line `mote`: it parses, runs the chosen command, and turns errors into one line on
// standard error and an exit code.
#include "mote/tool/tool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "command_line.h"
#include "commands.h"
#include "mote/base/error.h"
#include "mote/oracle/memory.h"
#include "mote/oracle/run.h"

namespace mote::tool {
namespace {

constexpr int kUsage = 2;
constexpr int kBug = 70;

std::string command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional() && !option->get_group().empty())
      names.push_back(option->get_name());
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Returns the chosen command below `command`, and the words that name it: "graph plan".
std::pair<const CLI::App*, std::string> innermost(const CLI::App& command) {
  std::string name = command.get_name();
  const CLI::App* at = &command;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    name += " " + at->get_name();
  }
  return {at, name};
}

/// One line with the known names in place of the wrong one.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::vector<std::string> unexpected = app.remaining(true);
  const std::string first = unexpected.empty() ? "" : unexpected.front();
  const bool extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !first.empty();
  if (chosen.empty()) {
    if (!extras) return error.what();
    if (first.starts_with('-')) {
      return fmt::format("unknown option {} (known: {})", first, option_names(app));
    }
    return fmt::format("unknown command '{}' (known: {})", first, command_names(app));
  }
  const auto [command, name] = innermost(*chosen.front());
  const bool incomplete = !command->get_subcommands([](const CLI::App*) { return true; }).empty();
  if (incomplete && !first.starts_with('-')) {
    const std::string got =
        first.empty() ? "no command" : fmt::format("unknown command '{}'", first);
    return fmt::format("{}: {} (known: {})", name, got, command_names(*command));
  }
  if (!extras) return fmt::format("{}: {}", name, error.what());
  if (first.starts_with('-') && first != "-") {
    return fmt::format("{}: unknown option {} (known: {})", name, first, option_names(*command));
  }
  return fmt::format("{}: unexpected argument '{}' (`mote {} --help` says what it takes)", name,
                     first, name);
}

std::string in_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

int fail(int code, const std::string& what) {
  std::fflush(stdout);
  fmt::print(stderr, "mote: {}\n", in_one_line(what));
  return code;
}

std::string exit_codes_text() {
  std::string text = "Exit codes:\n";
  for (const ExitCode& e : exit_codes()) text += fmt::format("  {:<26}{}\n", e.code, e.means);
  return text;
}

int run(int argc, char** argv) {
  CLI::App app("Generates machine-learning kernels from micro-ops and proves others against them.",
               "mote");
  app.set_version_flag("--version", "mote " MOTE_VERSION, "print the version");
  app.set_help_flag("-h,--help", "print this");
  app.get_formatter()->column_width(28);
  Action action;
  add_ops(app, action);
  add_explain(app, action);
  add_emit(app, action);
  add_check(app, action);
  add_replay(app, action);
  add_run(app, action);
  add_bench(app, action);
  add_graph(app, action);
  add_mutants(app, action);
  add_doctor(app, action);
  add_completion(app, action);
  bool man = false;
  app.add_flag("--help-man", man, "print the manual page")->group("");
  app.footer(exit_codes_text());
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return fail(kUsage, usage_error(app, error));
  }
  if (man) {
    print(man_page(help_of_program(app)));
    return 0;
  }
  if (!action) return fail(kUsage, fmt::format("no command (known: {})", command_names(app)));
  return action();
}

int run_and_report(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    return written ? code : fail(kUsage, "standard output cannot be written");
  } catch (const Error& e) {
    return fail(kUsage, e.what());
  } catch (const std::bad_alloc&) {
    return fail(kBug, "out of memory");
  } catch (const std::exception& e) {
    return fail(kBug, e.what());
  }
}

}  // namespace

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace mote::tool

namespace mote {
int tool_main(int argc, char** argv) {
  keep_freed_memory();
  // Under another name it is a tool with ops that mote does not know.
  if (argc > 0 && std::filesystem::path(argv[0]).filename() != "mote") replay_program() = argv[0];
  return tool::run_and_report(argc, argv);
}
}  // namespace mote
