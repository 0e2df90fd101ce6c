// SPDX-License-Identifier: Apache-2.0
// The gradients of ops as formulas, for those whose gradient depends on x with a slope.
#pragma once

#include "gradient/op_rules.h"

namespace mote {

/// Returns the formula of the gradient of a smooth element-wise op; null if there is none.
WriteFormula pointwise_formula(std::string_view op);
/// Returns that of a reduction, a normalisation or a loss.
WriteFormula reduction_formula(std::string_view op);
/// Returns that of an op that is written with other ops, whose gradients it then has.
WriteFormula composed_formula(std::string_view op);

}  // namespace mote
