// SPDX-License-Identifier: Apache-2.0
// What parameters decide for all elements of a region: which branch of a choice is taken, that a
// conjunction can't hold. What is computed for the other branch alone is left out.
#pragma once

#include <functional>

#include "plan.h"

namespace mote::blocks {

/// One argument, if it is the same for all elements, may make another the result.
bool is_decidable(const Step& step);
/// The steps that are left, where `holds` tells the truth of a place that is the same for all
/// elements. Each result has a block of its own, before and after.
std::vector<Step> decided(const std::vector<Step>& steps,
                          const std::function<bool(const Place&)>& holds);

}  // namespace mote::blocks
