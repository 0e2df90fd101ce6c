// SPDX-License-Identifier: Apache-2.0
// Uops that are index expressions: positions, whole constants and parameters, and what is compared
// of them. Lowering makes conditions of them, which passes turn into limits of loops.
#pragma once

#include <optional>
#include <vector>

#include "mote/uops/uop.h"
#include "passes/conditions.h"

namespace mote {

/// e with the loop variables i0, i1, ... standing for the elements of the index.
Expr at(const Expr& e, const std::vector<Expr>& index);

/// A comparison of index expressions, or a conjunction of such, at the index; nullopt for others.
std::optional<Conditions> as_conditions(const Uop& u, const std::vector<Expr>& index);

}  // namespace mote
