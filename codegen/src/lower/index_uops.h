// SPDX-License-Identifier: Apache-2.0
// Recognises uops that are index expressions: positions, integer constants, parameters, and
// comparisons of them. Lowering turns comparisons into conditions, and passes those into loop
// limits.
#pragma once

#include <optional>
#include <vector>

#include "mote/uops/uop.h"
#include "passes/conditions.h"

namespace mote {

/// Returns e with the loop variables i0, i1, ... replaced by the elements of the index.
Expr at(const Expr& e, const std::vector<Expr>& index);

/// Returns a comparison of index expressions, or a conjunction of such, at the index; else nullopt.
std::optional<Conditions> as_conditions(const Uop& u, const std::vector<Expr>& index);

}  // namespace mote
