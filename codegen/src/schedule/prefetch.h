// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: fetches the next row of an input while a loop works on this one.
#pragma once

#include "schedule/paths.h"
#include "schedule/take.h"

namespace mote {

/// Makes the last of the loops in `for r { for n { x[r, n] } for m { x[r, m] } }` prefetch the row
/// that r's next iteration reads, x[min(r + 1, R - 1), m]: only the first loop waits for memory,
/// which would have nothing to do while the others read the cache. In a nest, the last iteration of
/// a loop is followed by the next one of the loop around it. Refuses if no two loops directly in r
/// read the same row of an input, whose elements exist in all iterations of r and are adjacent in
/// all calls of the version.
Refusal prefetch_rows(LoopProgram& p, const Path& row, std::string& effect);

}  // namespace mote
