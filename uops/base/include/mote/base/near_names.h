// SPDX-License-Identifier: Apache-2.0
// "did you mean …?": known names that a misspelt one may stand for.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// Names a few slips (insertions, deletions, replacements, swaps of neighbours) from `name`,
/// nearest first; where there are none, those that hold it or are held by it. Three at most.
std::vector<std::string> near_names(std::string_view name, std::span<const std::string> known);

/// ", did you mean softmax or softmin?"; empty where no name is near, and for a single
/// letter.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace mote
