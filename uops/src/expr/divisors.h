// SPDX-License-Identifier: Apache-2.0
// Finds the divisors of index expressions, and checks the rule of the language: every divisor and
// modulus is >= 1 wherever its expression is evaluated. bind() checks those that are the same for
// all elements of a node, make_program those that mention loop variables.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "mote/uops/program.h"

namespace mote {

/// Calls f with each divisor and modulus in e, those inside of another one before it.
void for_each_divisor(const Expr& e, const std::function<void(const Expr&)>& f);

/// Returns true if the expression mentions a loop variable: it has a value for each element.
bool varies(const Expr& e);

/// Returns a divisor in u's indices that varies and is not proved to be >= 1 for all elements, all
/// sizes and all legal parameters.
std::optional<Expr> doubtful_divisor(const Uop& u, const std::vector<ParamDecl>& params);

}  // namespace mote
