// SPDX-License-Identifier: Apache-2.0
// A diagnosis that was found, and those that need no hypothesis: the verdict's, values that differ
// from run to run, values that are nearly right.
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

/// The diagnosis that follows from the verdict alone. Its text is empty where the outcome's reason
/// says all that is known.
std::optional<Found> by_verdict(const Case& c, const Outcome& outcome, const Judge& judge);
/// A tensor whose elements lie far apart: the number of bits in which offsets are counted, found by
/// runs with smaller and greater gaps.
std::optional<Found> by_offset(const Case& c, const Judge& judge);
/// Values that nothing explains and that are others in another run.
std::optional<Found> by_chance(const Case& c, const Outcome& outcome, const Judge& judge);
/// Nothing explains values that are all nearly right.
std::optional<Found> by_distance(const std::vector<Observed>& cases);

}  // namespace mote::diagnosis
