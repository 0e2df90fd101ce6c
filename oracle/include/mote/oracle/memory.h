// How much memory a case takes, and whether there is that much: a case that does not fit is refused
// before anything is allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mote/oracle/case.h"

namespace mote {

/// Bytes of every buffer that running the case takes. Throws Error when that overflows 63 bits.
std::int64_t bytes_needed(const Case& c);
/// Bytes that can be had without swapping: what the kernel says is available (and what the control
/// group still allows), less a margin for everything else.
std::int64_t bytes_available();
/// Throws Error "OP: case needs 12.3 GiB, 9.1 GiB are available". limit: instead of
/// bytes_available().
void check_memory(const Case& c, std::optional<std::int64_t> limit = std::nullopt);
/// "12.3 GiB"
std::string format_bytes(std::int64_t bytes);
/// "512M", "2GiB", "1000000". Throws Error.
std::int64_t parse_bytes(const std::string& text);

}  // namespace mote
