// SPDX-License-Identifier: Apache-2.0
// Classes of ASCII characters, whatever the locale is.
#pragma once

#include "mote/base/export.h"

namespace MOTE_API mote {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
/// What an identifier is made of, behind its first character.
constexpr bool is_word(char c) { return is_letter(c) || is_digit(c); }
constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace mote
