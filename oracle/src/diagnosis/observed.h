// SPDX-License-Identifier: Apache-2.0
// A failing case as hypotheses see it: the inputs, what the reference gives, what the kernel gave.
#pragma once

#include <optional>
#include <vector>

#include "mote/oracle/run.h"
#include "run/buffer.h"

namespace mote::diagnosis {

struct Observed {
  Case of;
  Outcome outcome;
  std::vector<Dense> inputs;
  std::vector<Dense> expected;
};

/// Its inputs have all axes of the program's, with leading 1s where the case has fewer. nullopt
/// where the reference cannot compute the case.
std::optional<Observed> observe(const Case& c, const Outcome& outcome);

/// The reference on these inputs; nullopt where it cannot.
std::optional<std::vector<Dense>> recompute(const Case& c, std::vector<Dense> inputs);

Dense copy_of(const Dense& x);
std::vector<Dense> copies_of(const std::vector<Dense>& x);

/// Those outputs are what the kernel gave, wherever that is known to be wrong, and are wrong too:
/// the same number, or one no farther from it than the bound is wide; where the bound leaves no
/// more than 1/64 of the value open, than that share of the number.
bool explains(const Observed& observed, const std::vector<Dense>& outputs);

/// The row-major position of a difference.
std::int64_t position(const Difference& d, const std::vector<std::int64_t>& shape);

}  // namespace mote::diagnosis
