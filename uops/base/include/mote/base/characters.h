// SPDX-License-Identifier: Apache-2.0
// Classifies ASCII characters, independent of the locale.
#pragma once

#include "mote/base/export.h"

namespace MOTE_API mote {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
/// Returns true for a character that may follow the first one of an identifier.
constexpr bool is_word(char c) { return is_letter(c) || is_digit(c); }
constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace mote
