// SPDX-License-Identifier: Apache-2.0
// Draws correct implementations of a program at random: every uop computed in the accumulator's
// format, sums in any order and tree, products with or without rounding (fused multiply-adds, wider
// evaluation), functions wrong by up to their declared accuracy, division by the reciprocal. Each
// result must lie within the bound.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mote/uops/bound.h"
#include "mote/uops/evaluate.h"

namespace mote::test {

enum class Order : std::uint8_t {
  forward,
  backward,
  shuffled,
  pairwise,
  lanes,
  blocks,
  tree,
  wide
};

/// The choices of one implementation.
struct Style {
  Order order = Order::forward;
  int wide_percent = 0;        ///< the percentage of operations whose results are not rounded
  int reciprocal_percent = 0;  ///< the percentage of divisions that multiply by the reciprocal
  double error = 0;            ///< the error of functions as a share of the declared accuracy
  bool rounds_params = true;
  bool fuses = false;  ///< products of f64 that are added are not rounded first
};
Style random_style(std::uint64_t seed);
std::string to_string(const Style& style);

/// Returns the outputs, rounded to their dtypes.
std::vector<Array> evaluate_perturbed(const Program& program, const std::vector<Array>& inputs,
                                      const std::map<std::string, Number>& params,
                                      const Style& style, std::uint64_t seed,
                                      const Contract& contract = {});

}  // namespace mote::test
