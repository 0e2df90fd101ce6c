// SPDX-License-Identifier: Apache-2.0
// Draws the sizes of a case. In: a domain, parameters and the goal of the case; out: a point of the
// domain whose work is near that goal.
#pragma once

#include "generate/random.h"
#include "mote/oracle/domain.h"

namespace mote {

enum class SizeGoal : std::uint8_t {
  usual,  ///< mostly below 200,000 multiply-adds, more than half the time above 1,000
  /// One extent of a thousand to a million, of those that are reduced or scanned if there are any,
  /// and little work for the others.
  long_axis,
  far  ///< few elements in all, so that they can lie gigabytes apart
};
SizeGoal draw_size_goal(const Domain& domain, Random& random);
KnobValues draw_sizes(const Domain& domain, const Params& params, SizeGoal goal, Random& random);

}  // namespace mote
