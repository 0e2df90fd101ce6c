// SPDX-License-Identifier: Apache-2.0
// A small call of each op that has a gradient in f64.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "mote/base/dtype.h"
#include "mote/runtime/tensor.h"

namespace mote {

/// The highest order that the cases differentiate to, of ops that have any.
inline constexpr int kTestedOrders = 3;

struct CaseInput {
  DType dtype = DType::f64;
  AxisList shape;
  double lowest = -2;
  double highest = 2;
  bool is_left_out = false;
  std::vector<std::int64_t> whole = {};  ///< the elements, of integers
};

struct GradientCase {
  std::string command;
  std::vector<CaseInput> inputs;
  int order = kTestedOrders;

  /// Returns "conv2d_12", the name of case 12.
  std::string name(std::size_t index) const;
};
std::vector<GradientCase> gradient_cases();
/// GoogleTest's name of this function.
void PrintTo(const GradientCase& c, std::ostream* out);

/// Returns the elements of an input of integers or booleans.
Tensor whole_numbers(const CaseInput& in);

}  // namespace mote
