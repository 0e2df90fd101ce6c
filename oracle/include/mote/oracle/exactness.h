// SPDX-License-Identifier: Apache-2.0
// Decides whether a result must be exact, so that bits can be compared. This follows from the uop
// program, the sizes and the kind of data alone; there is no tolerance. Each value is
//   copied   any data: moved, negated, compared, chosen; the bits of a correct kernel agree
//   grid     multiples of 2^q of magnitude at most M: their sums and products are exact in any
//            order while M / 2^q fits the mantissa of the narrowest real format of the program
//   inexact  anything else: division, functions, arithmetic on data with a full mantissa
// Integers wrap, so they are always exact.
#pragma once

#include <cstdint>
#include <string>

#include "mote/base/export.h"
#include "mote/oracle/fill.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

struct Exactness {
  bool exact = false;
  std::string reason;  ///< if not: "Map exp", "Reduce sum reaches 2^25.1, f32 holds 2^24"
};

/// The exactness of all outputs of a program with that fill and radius (fill.h).
Exactness exactness(const Program& program, const Binding& binding, FillKind fill,
                    std::int64_t radius);

struct Judgement {
  bool judged = false;
  std::int64_t radius = 1;  ///< the greatest of a short list for which the result is exact
  std::string reason;
};
Judgement judge(const Program& program, const Binding& binding, FillKind fill);

/// The multiply-adds: the number of elements of the largest operand of a Reduce, or of the largest
/// node without a Reduce.
double multiply_adds(const Program& program, const Binding& binding);

}  // namespace mote
