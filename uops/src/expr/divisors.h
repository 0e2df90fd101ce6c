// SPDX-License-Identifier: Apache-2.0
// What index expressions divide by, and what must be known of it. The rule of the language: every
// divisor and modulus is >= 1 wherever its expression is evaluated. bind() sees to those that are
// the same for all elements of a node, make_program to those that mention loop variables.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "mote/uops/program.h"

namespace mote {

/// Calls f with each divisor and modulus in e, those inside of another one before it.
void for_each_divisor(const Expr& e, const std::function<void(const Expr&)>& f);

/// The expression mentions a loop variable: it has a value for each element.
bool varies(const Expr& e);

/// A divisor in u's indices that varies and is not proved to be >= 1 for all elements, whatever the
/// sizes and the legal parameters are.
std::optional<Expr> doubtful_divisor(const Uop& u, const std::vector<ParamDecl>& params);

}  // namespace mote
