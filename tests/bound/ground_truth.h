// SPDX-License-Identifier: Apache-2.0
// Computes a program's outputs in real arithmetic: every value has 320 bits by MPFR, so that no
// rounding in a test is large enough for a double to show. It shares no code with the bound.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "mote/uops/evaluate.h"
#include "mpreal.h"
#include "walk.h"

namespace mote::test {

/// A value; integers and booleans are int64, as in the program.
using Truth = std::variant<mpfr::mpreal, std::int64_t>;

/// Returns the outputs, not rounded to their dtypes; casts in the program round.
std::vector<Values<Truth>> ground_truth(const Program& program, const std::vector<Array>& inputs,
                                        const std::map<std::string, Number>& params);

}  // namespace mote::test
