// SPDX-License-Identifier: Apache-2.0
// Numbers and quantities as a person writes them on a command line: "60s", "2GiB", "1000".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// "1.5GiB": 1.5 and "GiB". A text that does not begin with a number has the value NaN.
struct Quantity {
  double value = 0;
  std::string_view unit;  ///< the rest of the text
};
Quantity split_quantity(std::string_view text);

/// "60s", "500ms", "2m", "60". Throws Error.
double parse_seconds(const std::string& text);
/// A whole number. Throws Error "WHAT 'abc': expected a whole number from LEAST to MOST".
std::uint64_t parse_whole(std::string_view what, const std::string& text, std::uint64_t least,
                          std::uint64_t most);

}  // namespace mote
