// SPDX-License-Identifier: Apache-2.0
// Turns a scatter by addition whose index map can be solved into a gather, which needs no atomics
// and no order of writes, and has loops that can be limited. Convolution's gradient is
//   scatter[add](0, v to …, i2*s + i4*d - p)   ->   sum over i4 of
//   where((h + p - i4*d) % s == 0, v[…, (h + p - i4*d)/s, i4], 0).
// No other rewriting changes the order of a sum: the result is the reference from then on.
#pragma once

#include "mote/base/export.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

/// Returns the program with every Scatter add that can be solved as base + sum(where(guards, x[…],
/// 0)), without base if that is 0; and every SelectScatter add that writes one element along its
/// axis as base + where(index == position, x, 0). Others stay as they are: those by mul, max, min,
/// set, those to indices that no rule solves, and those with a divisor not known to be >= 1.
Program invert(const Program& program);

}  // namespace mote
