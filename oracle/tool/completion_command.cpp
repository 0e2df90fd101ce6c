// SPDX-License-Identifier: Apache-2.0
// Implements `mote completion SHELL`, and the hidden --help-man, from the command line that CLI11
// holds.
#include <algorithm>
#include <memory>

#include "command_line.h"
#include "commands.h"

namespace mote::tool {
namespace {

OptionHelp help_of(const CLI::Option& o) {
  OptionHelp help;
  help.about = o.get_description();
  help.positional = o.get_positional();
  help.repeats = o.get_expected_max() > 1 || o.get_allow_extra_args();
  for (const std::string& name : o.get_lnames()) help.names.push_back("--" + name);
  for (const std::string& name : o.get_snames()) help.names.push_back("-" + name);
  if (help.positional) help.names = {o.get_name(true)};
  const bool is_flag = o.get_items_expected_max() == 0;
  if (!is_flag) help.type = o.get_option_text().empty() ? o.get_type_name() : o.get_option_text();
  return help;
}

CommandHelp help_of(const CLI::App& command) {
  CommandHelp help{command.get_name(), command.get_description(), {}};
  for (const CLI::Option* o : command.get_options())
    if (!o->get_group().empty()) help.options.push_back(help_of(*o));
  return help;
}

}  // namespace

ProgramHelp help_of_program(const CLI::App& app) {
  ProgramHelp help{help_of(app), {}};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) help.commands.push_back(help_of(*command));
  return help;
}

void add_completion(CLI::App& app, Action& action) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "print what a shell needs to complete command lines");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->type_name("bash|zsh|fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  command->callback([shell, &app, &action] {
    action = [shell, &app] {
      const ProgramHelp help = help_of_program(app);
      print(*shell == "bash"  ? bash_completion(help)
            : *shell == "zsh" ? zsh_completion(help)
                              : fish_completion(help));
      return 0;
    };
  });
}

}  // namespace mote::tool
