// SPDX-License-Identifier: Apache-2.0
// Dual numbers: the ops of Map on them.
#pragma once

#include <span>

#include "dual.h"

namespace mote::test {

/// One element of a Map whose arguments and result are real.
Dual apply_dual(MapOp op, std::span<const Dual> x);
/// A comparison, isnan, isinf.
bool compare_dual(MapOp op, std::span<const Dual> x);

bool is_nan(Quad x);
Quad quad_trunc(Quad x);

}  // namespace mote::test
