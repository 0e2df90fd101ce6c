// SPDX-License-Identifier: Apache-2.0
// Tolerances of other projects, to compare with the bound.
#pragma once

#include <array>

#include "judge.h"

namespace mote::test {

inline constexpr std::size_t kJudges = 5;
/// The names of the judges: "bound", "PyTorch 1.3e-6/1e-5", …
extern const std::array<const char*, kJudges> kJudgeNames;

/// Tells which judges refuse the results; all except the first and the last judge element by
/// element.
std::array<bool, kJudges> refusals(const Bounds& bounds, const std::vector<Array>& results,
                                   const std::vector<Array>& reference);

}  // namespace mote::test
