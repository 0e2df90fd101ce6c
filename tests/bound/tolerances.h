// SPDX-License-Identifier: Apache-2.0
// What others accept, beside the bound.
#pragma once

#include <array>

#include "judge.h"

namespace mote::test {

inline constexpr std::size_t kJudges = 5;
/// "bound", "PyTorch 1.3e-6/1e-5", …
extern const std::array<const char*, kJudges> kJudgeNames;

/// Which of them refuse the results: all but the first and the last go element by element.
std::array<bool, kJudges> refusals(const Bounds& bounds, const std::vector<Array>& results,
                                   const std::vector<Array>& reference);

}  // namespace mote::test
