// SPDX-License-Identifier: Apache-2.0
// Writes and reads commands as text: "conv2d stride0=2 pads1=1", "softmax axis=1".
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "mote/runtime/command.h"
#include "mote/runtime/status.h"
#include "tensor/number_text.h"

namespace mote {
namespace {

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

[[noreturn]] void fail(std::string_view text, std::string_view word) {
  throw StatusError(MOTE_INVALID, "command '" + std::string(text) +
                                      "': expected name=number, got '" + std::string(word) + "'");
}

std::string_view next_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

}  // namespace

std::string to_string(const Command& command) {
  std::string text = command.definition().name;
  for (const mote_param& p : command.params())
    text += std::string(" ") + p.name + "=" +
            (p.is_real != 0 ? real_text(p.real) : std::to_string(p.integer));
  if (command.axis()) text += " axis=" + std::to_string(*command.axis());
  return text;
}

Command parse_command(std::string_view text, const Registry& registry) {
  std::string_view rest = text;
  const std::string_view op = next_word(rest);
  std::vector<Setting> settings;
  std::optional<int> axis;
  while (!rest.empty()) {
    const std::string_view word = next_word(rest);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos || equals == 0) fail(text, word);
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    if (name == "axis") {
      axis = number_in<int>(value);
      if (!axis) fail(text, word);
    } else if (const auto integer = number_in<std::int64_t>(value); integer && value != "-0") {
      settings.emplace_back(name, *integer);
    } else if (const auto real = number_in<double>(value)) {
      settings.emplace_back(name, *real);
    } else {
      fail(text, word);
    }
  }
  return Command(op, settings, axis, registry);
}

}  // namespace mote
