// SPDX-License-Identifier: Apache-2.0
// Gradients, and a few ops, in float as libraries write them: other formulas than the catalogue's,
// all correct. Each computes one output from the op's inputs, in the program's order. One leaves
// the list only with a derivation of why it is none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "mote/uops/evaluate.h"
#include "variant_parts.h"

namespace mote::test {

struct GradientProblem {
  std::int64_t rows = 0;     ///< R or K of the op
  std::int64_t columns = 0;  ///< N or L
  std::vector<Floats> inputs;
};
/// Sizes that are those of the problem; of columns every second one.
inline constexpr std::int64_t kRows = -1, kColumns = -2, kHalfColumns = -3;

struct GradientVariant {
  std::string output;
  std::string name;
  std::function<Floats(const GradientProblem&)> run;
  /// Of infinities or NaN it makes NaN where the definition does not.
  bool finite_only = false;
};

struct GradientVariants {
  std::string op;
  std::vector<GradientVariant> correct;
  /// Of the op, by name; R and K are rows, N and L columns, all others 1.
  std::map<std::string, std::int64_t> sizes = {};
  std::map<std::string, Number> params = {};
  std::int64_t most_columns = 64;
  /// Makes of what was drawn inputs that the op has: an output of its, what is not below 0.
  std::function<void(GradientProblem&)> prepare = {};
};

/// From the inputs at one element.
GradientVariant pointwise(std::string output, std::string name,
                          const std::function<float(Row inputs)>& f);

/// The lists by theme.
std::vector<GradientVariants> activation_gradients();
std::vector<GradientVariants> elementwise_gradients();
std::vector<GradientVariants> row_gradients();
std::vector<GradientVariants> norm_gradients();
std::vector<GradientVariants> linear_gradients();
std::vector<GradientVariants> attention_gradients();

}  // namespace mote::test
