// SPDX-License-Identifier: Apache-2.0
// The conditions that everything in a body stands under, be it by branches or by guards of folds.
// What tighten turns into limits of a loop, and what scan recognises.
#pragma once

#include "mote/codegen/loops.h"

namespace mote {

/// The guard of a fold whose otherwise leaves every accumulator as it is; else null. Not for argmax
/// and argmin, which count positions.
const value::Guard* neutral_guard(const Fold& f);

/// Those that hold wherever a statement of the body has an effect; inequalities come first.
Conditions common_conditions(const Body& body);

/// The body, where the condition, one of its common conditions, is known to hold.
Body without(Body body, const Condition& gone);

}  // namespace mote
