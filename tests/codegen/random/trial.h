// SPDX-License-Identifier: Apache-2.0
// One set of concrete sizes, parameters and data for a program; data is a pure function of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mote/uops/evaluate.h"

namespace mote::test {

/// The kinds of data: integers are small whole numbers; reals are doubles of many magnitudes;
/// special are reals with NaN, infinities and -0 among them.
enum class Fill : std::uint8_t { integers, reals, special };

struct Trial {
  std::map<std::string, std::int64_t> sizes;  ///< the program's free sizes, by name
  std::map<std::string, Number> params;
  std::uint64_t seed = 0;
  Fill fill = Fill::integers;
};

/// Draws sizes from {0, 1, 2, 3, 5}, C never 0; the first trial has different sizes above 1.
std::vector<Trial> make_trials(const Program& p, std::uint64_t seed, int count);

/// Draws the inputs: an axis that may be 1 is 1 in half of the cases.
std::vector<Array> make_inputs(const Program& p, const Trial& t);

std::string to_string(const Trial& t);  ///< "sizes A=2 B=3 params s=1 fill=reals seed=7"
/// Throws Error for words that to_string does not write.
Trial parse_trial(const std::string& text);

}  // namespace mote::test
