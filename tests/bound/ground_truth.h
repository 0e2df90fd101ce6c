// SPDX-License-Identifier: Apache-2.0
// What a program's outputs are in real arithmetic: every value in 320 bits by MPFR, which rounds no
// result of a test's size to anything a double could tell apart. Shares no code with the bound.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "mote/uops/evaluate.h"
#include "mpreal.h"
#include "walk.h"

namespace mote::test {

/// Integers and booleans are int64, as the program has them.
using Truth = std::variant<mpfr::mpreal, std::int64_t>;

/// Not rounded to the outputs' dtypes; casts round where the program has them.
std::vector<Values<Truth>> ground_truth(const Program& program, const std::vector<Array>& inputs,
                                        const std::map<std::string, Number>& params);

}  // namespace mote::test
