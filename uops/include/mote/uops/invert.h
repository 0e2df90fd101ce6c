// SPDX-License-Identifier: Apache-2.0
// A scatter by addition whose index map can be solved becomes a gather: no atomics, no order of
// writes, and loops that can be bounded. Convolution's gradient is
//   scatter[add](0, v to …, i2*s + i4*d - p)   ->   sum over i4 of
//   where((h + p - i4*d) % s == 0, v[…, (h + p - i4*d)/s, i4], 0).
// It is the one rewriting that changes the order of a sum: what comes out is the reference from
// then on.
#pragma once

#include "mote/base/export.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

/// The program with every Scatter add that can be solved as base + sum(where(guards, x[…], 0)),
/// base left out where it is 0; and every SelectScatter add that writes one element along its axis
/// as base + where(index == position, x, 0). Others stay as they are: by mul, max, min, set, to
/// indices that no rule solves, or where a divisor is not known to be >= 1.
Program invert(const Program& program);

}  // namespace mote
