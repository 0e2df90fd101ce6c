// SPDX-License-Identifier: Apache-2.0
// Implements `mote completion SHELL`, and the hidden --help-man, from the command line that CLI11
// holds.
#include <algorithm>
#include <memory>
#include <string>

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

/// Adds the commands below a command, as words that it takes, and each of their options once.
void add_nested(const CLI::App& command, CommandHelp& help) {
  OptionHelp words{.names = {"COMMAND"}, .type = "", .about = "", .positional = true};
  for (const CLI::App* nested : command.get_subcommands([](const CLI::App*) { return true; })) {
    words.type += (words.type.empty() ? "" : "|") + nested->get_name();
    words.about +=
        (words.about.empty() ? "" : "; ") + nested->get_name() + ": " + nested->get_description();
    for (const CLI::Option* o : nested->get_options()) {
      if (o->get_group().empty()) continue;
      const OptionHelp option = help_of(*o);
      const auto same = [&](const OptionHelp& known) { return known.names == option.names; };
      if (std::ranges::none_of(help.options, same)) help.options.push_back(option);
    }
  }
  if (!words.type.empty()) help.options.insert(help.options.begin(), words);
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
    if (!command->get_group().empty()) {
      help.commands.push_back(help_of(*command));
      add_nested(*command, help.commands.back());
    }
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
