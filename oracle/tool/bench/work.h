// SPDX-License-Identifier: Apache-2.0
// Counts the work of a case from the loops that its program is compiled to: arithmetic operations,
// and the bytes that any kernel has to move.
#pragma once

#include "mote/oracle/case.h"

namespace mote::tool {

struct OpWork {
  /// Additions, multiplications, comparisons of max and min, and calls of functions such as exp,
  /// each as one, in all iterations; a multiply-add is two. Reads that a condition on data guards
  /// count as if it held.
  double operations = 0;
  /// The bytes of the inputs that are read, each element once; of an input that the loops read
  /// fewer times than it has elements (a gather), that many elements.
  double read_bytes = 0;
  double written_bytes = 0;  ///< the bytes of the requested outputs
};

/// The work of the case. The loops are those after the passes, with prefix sums carried from one
/// element to the next. An algorithm that needs fewer operations than the definition (Winograd's)
/// can pass the peak.
OpWork work_of(const Case& c);

}  // namespace mote::tool
