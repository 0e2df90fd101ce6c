// SPDX-License-Identifier: Apache-2.0
// One set of concrete sizes, parameters and data for a program; data is a pure function of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mote/uops/evaluate.h"
#include "rng.h"

namespace mote::test {

/// The kinds of data: integers are small whole numbers; reals are doubles of many magnitudes;
/// special are reals with NaN, infinities and -0 among them; units are -1, 0 and 1, whose long sums
/// of products are exact in 16 bits; infinities are units of which a few are NaN or infinite: then
/// sums of products are the same in any order, too.
enum class Fill : std::uint8_t { integers, reals, special, units, infinities };

struct Trial {
  std::map<std::string, std::int64_t> sizes;  ///< the program's free sizes, by name
  std::map<std::string, Number> params;
  std::uint64_t seed = 0;
  Fill fill = Fill::integers;
};

/// Draws sizes from {0, 1, 2, 3, 5}, C never 0; the first trial has different sizes above 1.
std::vector<Trial> make_trials(const Program& p, std::uint64_t seed, int count);

/// Draws values of the parameters within their limits.
std::map<std::string, Number> some_params(const Program& p, Rng& rng);
/// Returns the values of the trial's sizes and whole parameters.
std::map<Symbol, std::int64_t> values_of(const Trial& t);
/// True if the sizes are equal that binding demands to be so.
bool meets_constraints(const Program& p, const Trial& t);

/// Draws the inputs: an axis that may be 1 is 1 in half of the cases, and a few inputs repeat along
/// an axis.
std::vector<Array> make_inputs(const Program& p, const Trial& t);

std::string to_string(const Trial& t);  ///< "sizes A=2 B=3 params s=1 fill=reals seed=7"
/// Throws Error for words that to_string does not write.
Trial parse_trial(const std::string& text);

}  // namespace mote::test
