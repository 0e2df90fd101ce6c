// SPDX-License-Identifier: Apache-2.0
// Quotes a word of a command line so that a shell reads it back.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// Returns the word in single quotes unless it is plain.
inline std::string for_shell(const std::string& word) {
  const auto is_plain = [](char ch) {
    return std::isalnum(static_cast<unsigned char>(ch)) != 0 ||
           std::string_view("_./=-+:,@%").find(ch) != std::string::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string quoted = "'";
  for (const char ch : word) quoted += ch == '\'' ? std::string("'\\''") : std::string(1, ch);
  return quoted + "'";
}

}  // namespace mote
