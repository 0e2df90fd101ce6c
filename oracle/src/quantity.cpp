// SPDX-License-Identifier: Apache-2.0
// Numbers with units.
#include "mote/oracle/quantity.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "mote/base/error.h"

namespace mote {

Quantity split_quantity(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return {std::numeric_limits<double>::quiet_NaN(), text};
  return {value, text.substr(static_cast<std::size_t>(at - text.data()))};
}

double parse_seconds(const std::string& text) {
  const auto [value, unit] = split_quantity(text);
  const double scale = unit == "ms" ? 1e-3 : unit == "s" || unit.empty() ? 1 : unit == "m" ? 60 : 0;
  if (scale == 0 || !(value >= 0 && value < 1e9)) {
    throw Error(fmt::format("budget '{}': expected a time such as 60s, 500ms or 2m", text));
  }
  return value * scale;
}

std::uint64_t parse_whole(std::string_view what, const std::string& text, std::uint64_t least,
                          std::uint64_t most) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || value < least || value > most) {
    throw Error(
        fmt::format("{} '{}': expected a whole number from {} to {}", what, text, least, most));
  }
  return value;
}

}  // namespace mote
