// SPDX-License-Identifier: Apache-2.0
// Prints completions for shells. Each is one text that never calls mote, so that pressing Tab costs
// nothing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "command_line.h"

namespace mote::tool {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
    at += by.size();
  }
  return text;
}

/// The text in single quotes. The shells differ only in the escape of a quote.
std::string sh_quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }
std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::vector<std::string> option_names(const CommandHelp& command) {
  std::vector<std::string> names;
  for (const OptionHelp& o : command.options)
    if (!o.positional) names.insert(names.end(), o.names.begin(), o.names.end());
  return names;
}

std::vector<std::string> command_names(const ProgramHelp& help) {
  std::vector<std::string> names;
  for (const CommandHelp& c : help.commands) names.push_back(c.name);
  return names;
}

void add(Values& values, const Values& more) {
  values.words.insert(values.words.end(), more.words.begin(), more.words.end());
  values.files = values.files || more.files;
}

/// The branch of a bash case that offers an option's values.
std::string bash_branch(const std::string& pattern, const Values& values) {
  return fmt::format("    {}) words={} files={} ;;\n", pattern,
                     sh_quoted(fmt::format("{}", fmt::join(values.words, " "))),
                     values.files ? "yes" : "");
}

std::string bash_cases(const CommandHelp& command) {
  std::string text;
  Values positionals;
  for (const OptionHelp& o : command.options) {
    const Values values = values_of(o);
    if (o.positional) {
      add(positionals, values);
    } else if (!o.type.empty()) {
      std::vector<std::string> patterns;
      for (const std::string& name : o.names) patterns.push_back(command.name + "," + name);
      text += bash_branch(fmt::format("{}", fmt::join(patterns, "|")), values);
    }
  }
  const std::string options = fmt::format("{}", fmt::join(option_names(command), " "));
  text += fmt::format(
      "    {},*) if [[ $cur == -* ]]; then words={}; else words={} files={}; fi ;;\n", command.name,
      sh_quoted(options), sh_quoted(fmt::format("{}", fmt::join(positionals.words, " "))),
      positionals.files ? "yes" : "");
  return text;
}

constexpr const char* kBash = R"(# bash completion for mote, made by `mote completion bash`
_mote() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
  local command= words= files= k
  COMPREPLY=()
  # --option=value is three words to bash
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  for ((k = 1; k < COMP_CWORD; k++)); do
    case ${{COMP_WORDS[k]}} in
    {0}) command=${{COMP_WORDS[k]}}; break ;;
    esac
  done
  case $command,$prev in
    ,*) words='{1}' ;;
{2}  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if [[ -n $files ]]; then
    local IFS=$'\n'
    COMPREPLY+=($(compgen -f -- "$cur"))
    compopt -o filenames 2>/dev/null
  fi
}}
complete -F _mote mote
)";

/// Escapes text for _arguments, where a colon ends a part, and a bracket a description.
std::string zsh_escaped(std::string text) {
  for (const char* special : {"\\", ":", "[", "]"})
    text = replaced(text, special, std::string("\\") + special);
  return text;
}

/// The text ":TIME:" or ":BACKEND:(gen openblas)", with files if the option takes them.
std::string zsh_values(const std::string& message, const Values& values) {
  const std::string words = fmt::format("{}", fmt::join(values.words, " "));
  const std::string action = words.empty()  ? (values.files ? "_files" : " ")
                             : values.files ? "_mote_or_files " + words
                                            : fmt::format("({})", words);
  return fmt::format(":{}:{}", zsh_escaped(message), action);
}

std::string zsh_argument(const OptionHelp& o) {
  const Values values = values_of(o);
  std::string text;
  for (const std::string& name : o.names) {
    const std::string spec =
        fmt::format("{}{}[{}]{}", o.repeats ? "*" : "", name, zsh_escaped(o.about),
                    o.type.empty() ? "" : zsh_values(o.type, values));
    text += (text.empty() ? "" : " ") + sh_quoted(spec);
  }
  return text;
}

std::string zsh_arguments(const CommandHelp& command, const std::string& indent) {
  std::string text = indent + "_arguments -s";
  Values positionals;  // of all of them: _arguments takes one "*"
  std::string message;
  for (const OptionHelp& o : command.options) {
    if (!o.positional) {
      text += " \\\n" + indent + "  " + zsh_argument(o);
      continue;
    }
    add(positionals, values_of(o));
    message += (message.empty() ? "" : " ") + o.names.front();
  }
  if (message.empty()) return text;
  return text + " \\\n" + indent + "  " + sh_quoted("*" + zsh_values(message, positionals));
}

std::string fish_options(const CommandHelp& command, const std::string& condition) {
  std::string text;
  for (const OptionHelp& o : command.options) {
    const Values values = values_of(o);
    std::string line = fmt::format("complete -c mote -n {}", fish_quoted(condition));
    for (const std::string& name : o.positional ? std::vector<std::string>() : o.names)
      line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (o.positional && values.words.empty() && !values.files) continue;
    if (!o.positional && !o.type.empty()) line += " -r";
    if (values.files) line += " -F";
    if (!values.words.empty())
      line += " -a " + fish_quoted(fmt::format("{}", fmt::join(values.words, " ")));
    text += fmt::format("{} -d {}\n", line, fish_quoted(o.about));
  }
  return text;
}

}  // namespace

std::string bash_completion(const ProgramHelp& help) {
  std::string cases;
  for (const CommandHelp& c : help.commands) cases += bash_cases(c);
  std::vector<std::string> first = command_names(help);
  for (const std::string& option : option_names(help.program)) first.push_back(option);
  return fmt::format(kBash, fmt::join(command_names(help), "|"), fmt::join(first, " "), cases);
}

std::string zsh_completion(const ProgramHelp& help) {
  std::string text =
      "#compdef mote\n# zsh completion for mote, made by `mote completion zsh`\n"
      "_mote_or_files() { compadd -- \"$@\"; _files }\n"
      "_mote() {\n  local context state state_descr line\n  typeset -A opt_args\n"
      "  local -a commands=(\n";
  for (const CommandHelp& c : help.commands)
    text += fmt::format("    {}\n", sh_quoted(c.name + ":" + replaced(c.about, ":", "\\:")));
  text += "  )\n" + zsh_arguments(help.program, "  ") +
          " \\\n    '1: :->command' '*:: :->rest'\n"
          "  case $state in\n    command) _describe command commands ;;\n    rest)\n"
          "      case $words[1] in\n";
  for (const CommandHelp& c : help.commands)
    text += fmt::format("        {})\n{} ;;\n", c.name, zsh_arguments(c, "          "));
  return text +
         "      esac ;;\n  esac\n}\n"
         "if [[ $funcstack[1] == _mote ]]; then _mote \"$@\"; else compdef _mote mote; fi\n";
}

std::string fish_completion(const ProgramHelp& help) {
  std::string text =
      "# fish completion for mote, made by `mote completion fish`\ncomplete -c mote -f\n";
  const std::string no_command =
      "not __fish_seen_subcommand_from " + fmt::format("{}", fmt::join(command_names(help), " "));
  text += fish_options(help.program, no_command);
  for (const CommandHelp& c : help.commands)
    text += fmt::format("complete -c mote -n {} -a {} -d {}\n", fish_quoted(no_command), c.name,
                        fish_quoted(c.about));
  for (const CommandHelp& c : help.commands)
    text += fish_options(c, "__fish_seen_subcommand_from " + c.name);
  return text;
}

}  // namespace mote::tool
