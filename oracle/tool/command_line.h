// SPDX-License-Identifier: Apache-2.0
// The command line as data, from which help, completions and the manual page are made.
#pragma once

#include <string>
#include <vector>

namespace mote::tool {

struct OptionHelp {
  std::vector<std::string> names;  ///< "--backend", "-o"; for a positional argument "OP"
  std::string type;                ///< "TIME", "auto|always|never"; empty: takes no value
  std::string about;
  bool positional = false;
  bool repeats = false;  ///< it may be given several times
};

struct CommandHelp {
  std::string name;
  std::string about;
  std::vector<OptionHelp> options;
};

struct ProgramHelp {
  CommandHelp program;  ///< the program, with the options before a command
  std::vector<CommandHelp> commands;
};

struct ExitCode {
  const char* code;
  const char* means;
};
const std::vector<ExitCode>& exit_codes();

/// The values that an option or a positional argument takes, from its type: alternatives in lower
/// case stand for themselves, alternatives in capitals for the names that exist here.
struct Values {
  std::vector<std::string> words;
  bool files = false;
};
Values values_of(const OptionHelp& option);

std::string bash_completion(const ProgramHelp& help);
std::string zsh_completion(const ProgramHelp& help);
std::string fish_completion(const ProgramHelp& help);
/// A page for man, in the macros of man(7).
std::string man_page(const ProgramHelp& help);

}  // namespace mote::tool
