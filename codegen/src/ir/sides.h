// SPDX-License-Identifier: Apache-2.0
// The two sides of a condition as it is compared: terms with negative factors stand on the other
// side, so that a value near the least integer is compared and not negated. The interpreter
// compares what the emitted text does.
#pragma once

#include "mote/codegen/loops.h"

namespace mote {

/// Stands for more == less, more > less or more >= less.
struct Sides {
  Expr more, less;
  bool is_strict = false;
};

Sides sides_of(const Condition& c);

}  // namespace mote
