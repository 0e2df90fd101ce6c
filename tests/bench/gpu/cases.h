// SPDX-License-Identifier: Apache-2.0
// The cases that are timed on a GPU, and the goals for them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "mote/oracle/case.h"

namespace mote::bench {

/// The yardstick that a time is compared with.
enum class Yardstick : std::uint8_t {
  copy,   ///< a copy on the GPU that moves the same number of bytes
  vendor  ///< NVIDIA's kernel of the same op
};

struct TimedCase {
  const char* text;  ///< in the form that parse_case() reads
  Yardstick yardstick = Yardstick::copy;
  double goal = 0;    ///< the least share of the yardstick's speed; 0 if none is set
  bool tf32 = false;  ///< true for the backends that round f32 to tf32
};

/// Returns the cases, the most informative first. Their tensors are well above a GPU's second-level
/// cache.
std::span<const TimedCase> timed_cases();

/// Describes the limits on the library algorithms that the backend chooses from. Users of the
/// library need not keep to them, so it may be faster than the times reported here. Returns nullptr
/// if the backend is none of NVIDIA's.
const char* limits_of(std::string_view backend);

/// Returns the case with every extent limited so that it is small enough for a program that plays
/// the GPU; the limit is the largest possible. Throws Error if there is none.
Case made_small(const Case& c);

}  // namespace mote::bench
