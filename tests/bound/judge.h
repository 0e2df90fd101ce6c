// SPDX-License-Identifier: Apache-2.0
// Compares results with the intervals of the bound.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mote/uops/bound.h"
#include "mote/uops/evaluate.h"

namespace mote::test {

/// The values of the bound program for one set of inputs.
struct Bounds {
  std::vector<Array> ends;  ///< y_lo, y_hi of the first output, of the second, …
};
Bounds bounds_of(const Program& bound, const std::vector<Array>& inputs,
                 const std::map<std::string, Number>& params);

struct Verdicts {
  std::int64_t elements = 0;
  std::int64_t refused = 0;
  std::int64_t indeterminate = 0;
  double worst = 0;   ///< the greatest error as a share of the error that the bound allows
  std::string first;  ///< "y[3]: 1.5 is not in [1, 1.25]"
};
/// Judges `results`, which are rounded to the outputs' dtypes like `reference`.
Verdicts judge(const Bounds& bounds, const std::vector<Array>& results,
               const std::vector<Array>& reference);

/// Kinds of data for the real inputs of a test.
enum class Data : std::uint8_t {
  uniform,
  positive,
  integer,
  onehot,
  large_mean,
  cancelling,
  tiny,
  extreme,
  logits,
  ones,
  special
};
inline constexpr int kDataKinds = 11;
/// Draws `count` numbers, rounded to dtype.
std::vector<Number> draw(Data kind, DType dtype, std::int64_t count, std::uint64_t seed);

}  // namespace mote::test
