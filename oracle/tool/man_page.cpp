// SPDX-License-Identifier: Apache-2.0
// Prints the manual page in the macros of man(7), which every system's man reads.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command_line.h"
#include "host.h"
#include "mote/oracle/text.h"

namespace mote::tool {
namespace {

/// Escapes plain text: a backslash begins an escape, a hyphen would become a soft one, characters
/// beyond ASCII are named by their number, and a line that begins with a point or an apostrophe
/// would be a request.
std::string roff(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = bytes_of_columns(text.substr(at), 1);
    if (text[at] == '\\')
      out += "\\e";
    else if (text[at] == '-')
      out += "\\-";
    else if (size == 1)
      out += text[at];
    else
      out += fmt::format("\\[u{:04X}]", code_point(text.substr(at, size)));
    at += size;
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

/// The text as an argument of a macro.
std::string roff_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : roff(text)) out += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return out + '"';
}

std::string entry(const OptionHelp& o) {
  const std::string names = fmt::format("{}", fmt::join(o.names, ", "));
  const std::string heads =
      o.positional ? fmt::format(".TP\n.I {}\n", roff_quoted(names))
      : o.type.empty()
          ? fmt::format(".TP\n.B {}\n", roff_quoted(names))
          : fmt::format(".TP\n.BI {} {}\n", roff_quoted(names + " "), roff_quoted(o.type));
  return heads + roff(o.about) + "\n";
}

std::string usage(const CommandHelp& command) {
  std::string text = "mote " + command.name;
  for (const OptionHelp& o : command.options)
    if (o.positional) text += fmt::format(" [{}{}]", o.names.front(), o.repeats ? "..." : "");
  return text + " [options]";
}

}  // namespace

std::string man_page(const ProgramHelp& help) {
  std::string text = fmt::format(
      ".TH MOTE 1 {} {} \"User Commands\"\n.SH NAME\nmote \\- {}\n.SH SYNOPSIS\n.B mote\n"
      ".I command\n[options]\n.SH OPTIONS\n",
      build_date_text(), roff_quoted("mote " MOTE_VERSION), roff(help.program.about));
  for (const OptionHelp& o : help.program.options) text += entry(o);
  text += ".SH COMMANDS\n";
  for (const CommandHelp& c : help.commands) {
    text += fmt::format(".SS {}\n{}.\n", roff_quoted(usage(c)), roff(c.about));
    for (const OptionHelp& o : c.options) text += entry(o);
  }
  text += ".SH EXIT STATUS\n";
  for (const ExitCode& e : exit_codes())
    text += fmt::format(".TP\n.B {}\n{}\n", roff_quoted(e.code), roff(e.means));
  return text;
}

}  // namespace mote::tool
