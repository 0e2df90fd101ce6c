// SPDX-License-Identifier: Apache-2.0
// Dual numbers, and the ops of Map on them.
#pragma once

#include <span>

#include "dual.h"

namespace mote::test {

/// Computes one element of a Map whose arguments and result are real.
Dual apply_dual(MapOp op, std::span<const Dual> x);
/// Computes a comparison, isnan or isinf.
bool compare_dual(MapOp op, std::span<const Dual> x);

bool is_nan(Quad x);
Quad quad_trunc(Quad x);

}  // namespace mote::test
