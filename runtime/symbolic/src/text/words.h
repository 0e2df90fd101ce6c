// SPDX-License-Identifier: Apache-2.0
// The words of graph text, which the printer and the parser share.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "mote/base/characters.h"
#include "mote/base/text_cursor.h"
#include "mote/symbolic/view.h"

namespace mote::graph_text {

/// The words that open a value and are no op's name; an op of that name stands in quotes.
inline constexpr std::array<std::string_view, 8> kBuiltIn = {
    "tensor", "zeros", "constant", "copy", "fill", "function", "while", "case"};
inline constexpr std::array kViews = {ViewKind::slice, ViewKind::select, ViewKind::permute,
                                      ViewKind::broadcast, ViewKind::reshape};

inline bool is_built_in(std::string_view word) {
  return std::ranges::find(kBuiltIn, word) != kBuiltIn.end();
}

inline bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && std::ranges::all_of(text, is_word);
}

/// Returns the name of a symbol, a node or a graph as the text has it.
inline std::string name_text(std::string_view name) {
  return is_identifier(name) && name != "_" ? std::string(name) : quoted_text(name);
}

/// Returns the name of an op as the text has it: words between dots, or in quotes.
inline std::string op_text(std::string_view op) {
  std::string_view rest = op;
  std::string_view word;
  bool is_plain = !is_built_in(op);
  for (bool more = true; more && is_plain;) {
    const std::size_t dot = rest.find('.');
    more = dot != std::string_view::npos;
    word = rest.substr(0, dot);
    rest.remove_prefix(more ? dot + 1 : rest.size());
    is_plain = is_identifier(word);
  }
  const auto is_view = [&](ViewKind kind) { return word == name(kind); };
  if (word.size() < op.size() && std::ranges::any_of(kViews, is_view)) is_plain = false;
  return is_plain ? std::string(op) : quoted_text(op);
}

}  // namespace mote::graph_text
