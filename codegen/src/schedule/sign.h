// SPDX-License-Identifier: Apache-2.0
// Recognises a parameter that says whether a loop runs backwards.
#pragma once

#include <optional>

#include "mote/uops/facts.h"
#include "mote/uops/program.h"

namespace mote {

/// Returns the facts about the source, including upper limits of parameters.
Facts with_upper_bounds(const Program& source);
/// Returns (1 - sign)/2, which is 0 or 1, if sign is 1 or -1.
std::optional<Expr> flip_of(const Expr& sign, const Facts& facts);

}  // namespace mote
