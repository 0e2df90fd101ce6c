// SPDX-License-Identifier: Apache-2.0
// Finds known names that a misspelt one may stand for ("did you mean …?").
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// Returns at most three names a few slips (insertions, deletions, replacements, swaps of
/// neighbours) from `name`, nearest first; if there are none, those that contain it or are
/// contained in it.
std::vector<std::string> near_names(std::string_view name, std::span<const std::string> known);

/// Returns ", did you mean softmax or softmin?"; empty if no name is near, and for a single letter.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace mote
