// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: takes several rows of a reduction at a time, whose sums lie in an array.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// Turns `for n in 0..N { simd for c { s[c] += x[n, c] } }` into a loop over every `rows`-th n,
/// whose simd loop adds `rows` terms to each s[c], and a loop over the rows that are left: s[c] is
/// read and written once for them, and they are read side by side. The order of each sum stays.
/// Returns the steps taken.
std::vector<std::string> jam_rows(LoopProgram& p, std::int64_t rows);

}  // namespace mote
