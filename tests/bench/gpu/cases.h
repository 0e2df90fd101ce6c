// SPDX-License-Identifier: Apache-2.0
// What is timed on a GPU, and what of it is aimed at.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "mote/oracle/case.h"

namespace mote::bench {

/// What a time is compared with.
enum class Yardstick : std::uint8_t {
  copy,   ///< a copy on the GPU that moves as many bytes
  vendor  ///< NVIDIA's kernel of the same op
};

struct TimedCase {
  const char* text;  ///< as parse_case() reads it
  Yardstick yardstick = Yardstick::copy;
  double goal = 0;    ///< least share of the yardstick's speed; 0: none is set
  bool tf32 = false;  ///< by the backends that round f32 to tf32
};

/// The most telling first. Tensors are well above a GPU's second-level cache.
std::span<const TimedCase> timed_cases();

/// Among which of a library's algorithms that backend chooses, which its users need not keep to: it
/// may be faster than the times beside ours. nullptr where the backend is none of NVIDIA's.
const char* limits_of(std::string_view backend);

/// The case with no extent above the largest limit at which it is small enough for a program that
/// plays the GPU. Throws Error where no limit does.
Case made_small(const Case& c);

}  // namespace mote::bench
