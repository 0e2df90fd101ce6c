// SPDX-License-Identifier: Apache-2.0
// Implementations of some ops in float, as people write them: other formulas, other orders of
// summation, fused and online forms, all correct; and the same with one defect each. They measure
// the soundness and sharpness of the bound; a correct one leaves the list only with a derivation
// that it is not correct.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace mote::test {

using Floats = std::vector<float>;

/// A matrix of R rows of N elements, or the inputs that the op makes of it (variants.cpp).
struct Problem {
  int rows = 0;
  int columns = 0;
  std::vector<Floats> inputs;
};

/// The parameters that gemm is run with.
constexpr double kGemmAlpha = 0.7;
constexpr double kGemmBeta = -1.3;

struct Variant {
  std::string name;
  std::function<Floats(const Problem&)> run;
};

struct VariantsOfOp {
  std::string op;
  std::vector<Variant> correct;
  std::vector<Variant> defective;
};

const std::vector<VariantsOfOp>& variants();

}  // namespace mote::test
