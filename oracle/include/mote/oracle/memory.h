// SPDX-License-Identifier: Apache-2.0
// Computes how much memory a case takes and how much is available: a case that does not fit is
// refused before anything is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "mote/base/export.h"
#include "mote/oracle/case.h"

namespace MOTE_API mote {

/// The bytes of all buffers that running the case takes, in this process or in a worker, where the
/// tensors exist twice and with other contents too. Throws Error when that overflows 63 bits.
std::int64_t bytes_needed(const Case& c, bool isolated = false);
/// The bytes available without swapping: what the operating system reports as available (within the
/// limit of the control group), less a margin for everything else.
std::int64_t bytes_available();

/// The memory that a case needs, and the memory that is available.
struct Memory {
  std::int64_t needed = 0;     ///< bytes of the case's own buffers
  std::int64_t available = 0;  ///< available bytes, at least `needed`
  /// "workspace needs 1.0 PiB, 9.1 GiB are available"; empty when that number of bytes is left.
  std::string refusal(const char* what, std::size_t bytes) const;
};
/// Throws Error "OP: case needs 12.3 GiB, 9.1 GiB are available". `limit` replaces
/// bytes_available().
Memory check_memory(const Case& c, std::optional<std::int64_t> limit = std::nullopt,
                    bool isolated = false);
/// Makes the process keep freed memory from now on, up to 256 MiB: a program that runs case after
/// case then does not get new pages, which the operating system clears, for each.
void keep_freed_memory();
/// The text "12.3 GiB".
std::string format_bytes(std::int64_t bytes);

}  // namespace mote
