// SPDX-License-Identifier: Apache-2.0
// Parses numbers and quantities as a person writes them on a command line: "60s", "2GiB", "1000".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// The seconds of "60s", "500ms", "1.5 h", "1m30s", "60". Throws Error, which begins with WHAT and
/// lists the units.
double parse_seconds(std::string_view what, const std::string& text);
/// The bytes of "512M", "1.5GiB" (powers of 1024), "100 kB" (powers of 1000), "1000000". Throws
/// Error, which begins with WHAT and lists the units.
std::int64_t parse_bytes(std::string_view what, const std::string& text);
/// A whole number. Throws Error "WHAT 'abc': expected a whole number from LEAST to MOST".
std::uint64_t parse_whole(std::string_view what, const std::string& text, std::uint64_t least,
                          std::uint64_t most);

}  // namespace mote
