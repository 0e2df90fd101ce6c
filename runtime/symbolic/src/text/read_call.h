// SPDX-License-Identifier: Apache-2.0
// Reads names, and the arguments of a call: "(x, _, b, stride0=2, axis=1, dtype=f16)".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mote/base/text_cursor.h"
#include "mote/runtime/command.h"

namespace mote::graph_text {

/// A name and where it stands.
struct ReadName {
  std::string text;
  std::size_t at = 0;
  bool is_quoted = false;

  bool is_left_out() const { return text == "_" && !is_quoted; }
};

/// Reads a word or a quoted text.
ReadName read_name(TextCursor& text, std::string_view what);

/// Symbols, and settings of a command.
struct ReadCall {
  std::vector<ReadName> inputs;
  std::vector<std::pair<std::string, std::variant<std::int64_t, double>>> settings;
  std::optional<int> axis;
  std::optional<DType> dtype;

  bool has_settings() const { return !settings.empty() || axis || dtype; }
};

ReadCall read_call(TextCursor& text);
/// Throws StatusError as the command's constructor does.
Command command_of(const ReadName& op, const ReadCall& call, const Registry& registry);

}  // namespace mote::graph_text
