// SPDX-License-Identifier: Apache-2.0
// The parts of variants: sums in every order, rounding to narrow formats, exps, rows.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>

#include "variants.h"

namespace mote::test {

using Row = std::span<const float>;
using Sum = float (*)(Row);
inline constexpr float kEps = 1e-5F;
inline constexpr float kLowest = -std::numeric_limits<float>::infinity();

float forward(Row x);
float backward(Row x);
float pairwise(Row x);
float lanes(Row x);
float blocked(Row x);
float kahan(Row x);
float in_double(Row x);
float but_the_last(Row x);
float f16_of(float v);
float bf16_of(float v);
/// Rounds to 11 significant bits.
float tf32_of(float v);
float in_f16(Row x);
float tf32_terms(Row x);
Variant elementwise(std::string name, const std::function<float(float)>& f);
float greatest(Row x);
Floats squares(Row x, float mean);
Floats exps(Row x, float shift, float (*e)(float));
float exp_libm(float v);
/// Computes 2^(v log2 e) in float, where the argument's error becomes an error of the result. Alone
/// it is not a correct exp; inside a softmax of small inputs the error equals one of the inputs.
float exp_by_exp2(float v);
float exp_bf16(float v);
/// Evaluates a polynomial on [-ln2/2, ln2/2] after reduction in two steps, within 4 ulp.
float exp_polynomial(float v);

struct NamedSum {
  const char* name;
  Sum sum;
};
inline constexpr NamedSum kSums[] = {
    {"forward", forward}, {"backward", backward}, {"pairwise", pairwise}, {"lanes", lanes},
    {"blocked", blocked}, {"kahan", kahan},       {"double", in_double}};

using RowOp = std::function<void(Row x, std::span<float> y)>;
Variant by_rows(std::string name, const RowOp& op, bool reduces = false);

/// These functions return the lists by theme.
std::vector<VariantsOfOp> normalise_variants();
std::vector<VariantsOfOp> linear_variants();

}  // namespace mote::test
