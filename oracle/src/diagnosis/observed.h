// SPDX-License-Identifier: Apache-2.0
// A failing case for hypotheses: the inputs, the reference's outputs, the kernel's outcome.
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

/// Observes a failing case. Its inputs have all axes of the program's, with leading 1s if the case
/// has fewer. nullopt if the reference cannot compute the case.
std::optional<Observed> observe(const Case& c, const Outcome& outcome);

/// The reference's outputs for these inputs; nullopt if it fails.
std::optional<std::vector<Dense>> recompute(const Case& c, std::vector<Dense> inputs);

Dense copy_of(const Dense& x);
std::vector<Dense> copies_of(const std::vector<Dense>& x);

/// True if the outputs are those of the kernel wherever it is known to be wrong, and are wrong too:
/// the same number, or one no farther from it than the width of the error bound; if that leaves at
/// most 1/64 of the value open, then within that share of the number.
bool explains(const Observed& observed, const std::vector<Dense>& outputs);

/// The row-major position of a difference.
std::int64_t position(const Difference& d, const std::vector<std::int64_t>& shape);

}  // namespace mote::diagnosis
