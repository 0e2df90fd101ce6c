// SPDX-License-Identifier: Apache-2.0
// Diagnoses that need no hypothesis: from the verdict, from values that differ from run to run, and
// from values that are nearly right.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/find_condition.h"
#include "diagnosis/observed.h"

namespace mote::diagnosis {

struct Found {
  std::string kind;
  std::string text;
};

/// The diagnosis that follows from the verdict alone. Its text is empty if the outcome's reason is
/// complete.
std::optional<Found> by_verdict(const Case& c, const Outcome& outcome, const Judge& judge);
/// Diagnoses a tensor whose elements lie far apart: finds the number of bits in which offsets are
/// counted by runs with smaller and greater gaps.
std::optional<Found> by_offset(const Case& c, const Judge& judge);
/// Diagnoses a tensor that is read or written as if it were row-major; the case passes if all are.
std::optional<Found> by_strides(const Case& c, const Outcome& outcome, const Judge& judge);
/// Diagnoses unexplained values that differ in another run.
std::optional<Found> by_chance(const Case& c, const Outcome& outcome, const Judge& judge);
/// Diagnoses unexplained values that are all nearly right.
std::optional<Found> by_distance(const std::vector<Observed>& cases);

}  // namespace mote::diagnosis
