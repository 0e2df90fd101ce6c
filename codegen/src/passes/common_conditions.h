// SPDX-License-Identifier: Apache-2.0
// Finds the conditions that everything in a body stands under, either by branches or by guards of
// folds. tighten turns them into limits of a loop, and scan recognises them.
#pragma once

#include "mote/codegen/loops.h"

namespace mote {

/// Returns the guard of a fold whose otherwise leaves every accumulator as it is; else null. Also
/// null for argmax and argmin, which count positions.
const value::Guard* neutral_guard(const Fold& f);

/// Returns the conditions that hold wherever a statement of the body has an effect; inequalities
/// come first.
Conditions common_conditions(const Body& body);

/// Returns the body without the condition, one of its common conditions, which is known to hold.
Body without(Body body, const Condition& gone);

}  // namespace mote
