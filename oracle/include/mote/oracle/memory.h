// SPDX-License-Identifier: Apache-2.0
// How much memory a case takes, and whether there is that much: a case that does not fit is refused
// before anything is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "mote/base/export.h"
#include "mote/oracle/case.h"

namespace MOTE_API mote {

/// Bytes of every buffer that running the case takes, in this process or in a worker, where the
/// tensors are there twice and there are other contents too. Throws Error when that overflows 63
/// bits.
std::int64_t bytes_needed(const Case& c, bool isolated = false);
/// Bytes that can be had without swapping: what the kernel says is available (and what the control
/// group still allows), less a margin for everything else.
std::int64_t bytes_available();

/// What a case takes of what there is.
struct Memory {
  std::int64_t needed = 0;     ///< by the case's own buffers
  std::int64_t available = 0;  ///< needed at least
  /// "workspace needs 1.0 PiB, 9.1 GiB are available"; empty when so many bytes are left.
  std::string refusal(const char* what, std::size_t bytes) const;
};
/// Throws Error "OP: case needs 12.3 GiB, 9.1 GiB are available". limit: instead of
/// bytes_available().
Memory check_memory(const Case& c, std::optional<std::int64_t> limit = std::nullopt,
                    bool isolated = false);
/// What is freed from now on stays with the process, up to 256 MiB: a program that runs case after
/// case does not get new pages, which the kernel clears, for each.
void keep_freed_memory();
/// "12.3 GiB"
std::string format_bytes(std::int64_t bytes);

}  // namespace mote
