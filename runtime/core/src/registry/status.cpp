// SPDX-License-Identifier: Apache-2.0
#include "mote/runtime/status.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace mote {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

std::string one_line(const std::string& text) {
  if (std::ranges::none_of(text, is_control)) return text;
  std::string line;
  for (const char c : text) {
    if (!is_control(c)) {
      line += c;
      continue;
    }
    std::array<char, 8> code{};
    std::snprintf(code.data(), code.size(), "\\x%02X", static_cast<unsigned>(c));
    line += code.data();
  }
  return line;
}

}  // namespace

StatusError::StatusError(mote_status status, const std::string& what)
    : Error(one_line(what)), status_(status) {}

}  // namespace mote
