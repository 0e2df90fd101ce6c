// SPDX-License-Identifier: Apache-2.0
// JSON as a tree that is freed without taking memory, which nlohmann's own is not: its destructor
// would end the program where memory has ended.
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
  std::vector<std::string> names;  ///< of an object's elements

  bool is(std::string_view expected) const { return kind == Kind::text && text == expected; }
  /// Of an object, the last element of that name; else null.
  const Value* find(std::string_view name) const;
};

/// Lists and objects within each other; text with more counts as no JSON.
inline constexpr std::size_t kMaxDepth = 64;

/// Nothing for what is no JSON.
std::optional<Value> parse(std::string_view text);

/// The text as a JSON string, with its quotes; what is no UTF-8 is replaced.
std::string quoted(const std::string& text);

}  // namespace mote::json
