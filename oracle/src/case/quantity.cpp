// SPDX-License-Identifier: Apache-2.0
// Parses numbers with units. Blanks may surround a number and its unit; letters may be in either
// case.
#include "mote/oracle/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "mote/base/error.h"

namespace mote {
namespace {

constexpr double kMaxSeconds = 1e9;

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

/// Removes a number and its unit, in lower case, from the front of the text. The number is NaN if
/// there is none.
std::pair<double, std::string> take_quantity(std::string_view& text) {
  skip_blanks(text);
  double value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return {std::numeric_limits<double>::quiet_NaN(), ""};
  text.remove_prefix(static_cast<std::size_t>(at - text.data()));
  skip_blanks(text);
  const std::size_t size = std::min(text.find_first_of(" \t0123456789."), text.size());
  std::string unit(text.substr(0, size));
  std::ranges::transform(unit, unit.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  text.remove_prefix(size);
  skip_blanks(text);
  return {value, unit};
}

/// The seconds of a unit; 0 if it is not a unit of time.
double seconds_of(std::string_view unit) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  static constexpr std::array<Unit, 8> kUnits = {{{"us", 1e-6},
                                                  {"ms", 1e-3},
                                                  {"s", 1},
                                                  {"sec", 1},
                                                  {"m", 60},
                                                  {"min", 60},
                                                  {"h", 3600},
                                                  {"d", 86400}}};
  const auto at = std::ranges::find(kUnits, unit, &Unit::name);
  return at == kUnits.end() ? 0 : at->seconds;
}

/// The bytes of "k", "kib", "kb", …; 0 if it is not a unit of bytes.
double bytes_in(std::string_view unit) {
  if (unit.empty() || unit == "b") return 1;
  static constexpr std::string_view kPrefixes = "kmgtpe";
  const std::size_t prefix = kPrefixes.find(unit[0]);
  if (prefix == std::string_view::npos) return 0;
  const std::string_view rest = unit.substr(1);
  const auto power = static_cast<double>(prefix + 1);
  if (rest.empty() || rest == "i" || rest == "ib") return std::pow(1024.0, power);
  return rest == "b" ? std::pow(1000.0, power) : 0;
}

/// The sum of quantities; nullopt if the text is not a sequence of them. A number alone is in
/// seconds.
std::optional<double> seconds_in(std::string_view text) {
  double sum = 0;
  for (bool first = true; first || !text.empty(); first = false) {
    const auto [value, unit] = take_quantity(text);
    const double scale = unit.empty() && first && text.empty() ? 1 : seconds_of(unit);
    if (scale == 0 || !(value >= 0)) return std::nullopt;
    sum += value * scale;
  }
  return sum < kMaxSeconds ? std::optional(sum) : std::nullopt;
}

}  // namespace

double parse_seconds(std::string_view what, const std::string& text) {
  if (const auto seconds = seconds_in(text)) return *seconds;
  throw Error(fmt::format(
      "{} '{}': expected a time such as 60s, 500ms or 1m30s (units: us, ms, s, m or min, h, d)",
      what, text));
}

std::int64_t parse_bytes(std::string_view what, const std::string& text) {
  std::string_view rest = text;
  const auto [value, unit] = take_quantity(rest);
  const double bytes = value * bytes_in(unit);
  if (rest.empty() && bytes_in(unit) > 0 && bytes >= 0 && bytes < 0x1p62)
    return static_cast<std::int64_t>(bytes);
  throw Error(fmt::format(
      "{} '{}': expected bytes such as 500M, 1.5GiB or 100 kB (units: B; K, M, G, T, P, "
      "E and KiB, MiB, ... are powers of 1024; kB, MB, ... powers of 1000)",
      what, text));
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
