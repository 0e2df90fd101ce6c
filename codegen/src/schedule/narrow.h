// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: compares positions in 32 bits, of which a vector holds as many as of
// floats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// The most iterations of a part: the difference of two positions in it, either way, fits 32 bits,
/// and is not the greatest of these integers.
inline constexpr std::int64_t kMaxNarrowPart = std::int64_t{1} << 30;

/// Turns `simd for n in 0..N with a { a min= c ? n : the greatest i64 }` into `for n_part in 0..N
/// step P with a { simd for n in n_part..min(n_part + P, N) with a_part { a_part min= c ? n -
/// n_part : the greatest i32 }; a min= a_part + n_part, if there is one }`, whose inner loop takes
/// integers of 32 bits; P is the number of iterations of a part. A position may also run backwards,
/// as a parameter says, and be shifted. Returns the steps taken.
std::vector<std::string> narrow_positions(LoopProgram& p, std::int64_t part);

}  // namespace mote
