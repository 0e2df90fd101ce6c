// SPDX-License-Identifier: Apache-2.0
// Finds values that an outer loop carries through an inner one, x <- while (x …) {…}, or through
// branches, x <- case (k) else (x) of (x) {…}. The inner loop goes on, in the next iteration of the
// outer one, where it was: both are one loop for such a value, and its locations follow each other
// by the number of times that it was computed, which a clock shows (TensorChoice::clock). A branch
// computes it or passes it on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "mote/symbolic/control.h"

namespace mote {

/// The inner loop or case..of that carries a value on, and which of its values it is.
struct CarriedOn {
  std::uint32_t node;
  std::uint32_t output;
};

/// Returns for each value that the loop carries over the inner loop or case..of that it goes
/// through, if the outer loop reads it nowhere else and its condition does not need the inner one,
/// and the innermost loop computes it anew in each iteration.
std::vector<std::optional<CarriedOn>> carried_through(const ControlInfo& loop);

/// The clocks of a loop's values that the loop around carries through it, by value.
using ValueClocks = std::map<std::uint32_t, std::uint64_t>;
/// The clocks of the values of a graph's loops, by the loop's node.
using LoopClocks = std::map<std::uint32_t, ValueClocks>;

/// Returns a clock that no other loop has.
std::uint64_t new_clock();

}  // namespace mote
