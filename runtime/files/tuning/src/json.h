// SPDX-License-Identifier: Apache-2.0
// JSON as a tree that is freed without allocating, unlike nlohmann's own: its destructor would end
// the program when memory has run out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mote::json {

struct Value {
  enum class Kind { other, number, text, list, object };  ///< other: null, true, false

  Kind kind = Kind::other;
  double number = 0;
  std::string text;
  std::vector<Value> elements;
  std::vector<std::string> names;  ///< the names of an object's elements

  bool is(std::string_view expected) const { return kind == Kind::text && text == expected; }
  /// Returns an object's last element of that name; else null.
  const Value* find(std::string_view name) const;
};

/// The maximum nesting of lists and objects; text with deeper nesting counts as no JSON.
inline constexpr std::size_t kMaxDepth = 64;

/// Returns nothing if the text is no JSON.
std::optional<Value> parse(std::string_view text);

/// Returns the text as a JSON string, with its quotes; invalid UTF-8 is replaced.
std::string quoted(const std::string& text);

}  // namespace mote::json
