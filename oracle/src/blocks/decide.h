// SPDX-License-Identifier: Apache-2.0
// Applies what parameters decide for all elements of a region: the branch of a choice, or that a
// conjunction cannot hold. Steps that only the other branch needs are left out.
#pragma once

#include <functional>

#include "plan.h"

namespace mote::blocks {

/// True if one argument, when it is the same for all elements, may make another argument the
/// result.
bool is_decidable(const Step& step);
/// The remaining steps; `holds` gives the truth of a location whose value is the same for all
/// elements. Each result has a block of its own, before and after.
std::vector<Step> decided(const std::vector<Step>& steps,
                          const std::function<bool(const Location&)>& holds);

}  // namespace mote::blocks
