// SPDX-License-Identifier: Apache-2.0
// Writes colours as in ECMA-48 (SGR). A line is painted without its newline, so that no colour runs
// over.
#include "mote/oracle/screen.h"

#include <fmt/format.h>

namespace mote {
namespace {

int code_of(Colour colour) {
  switch (colour) {
    case Colour::bold:
      return 1;
    case Colour::red:
      return 31;
    case Colour::green:
      return 32;
    case Colour::yellow:
      return 33;
    case Colour::none:
      break;
  }
  return 0;
}

}  // namespace

std::string painted(std::string_view text, Colour colour, const Screen& screen) {
  if (!screen.colour || colour == Colour::none) return std::string(text);
  std::string all;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    all += line.empty() ? "" : fmt::format("\x1b[{}m{}\x1b[0m", code_of(colour), line);
    text.remove_prefix(line.size());
    if (text.empty()) break;
    all += '\n';
    text.remove_prefix(1);
  }
  return all;
}

}  // namespace mote
