// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: takes the loop along which a window slides inside the loops over the
// window. Each position of the window then runs over the adjacent elements of a row.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "mote/codegen/loops.h"
#include "schedule/innermost.h"

namespace mote {

/// Turns `for n { for k in max(0, P - S*n)..min(K, W + P - S*n) with s { s += x[S*n + k - P]*w[k] }
/// y[n] = s }` into a loop over tiles of n, in which s is an array, and a loop over k in 0..K that
/// holds one over the n for which x has the element: limits of k that change with n become limits
/// of n. The order of each sum stays. `nest` is a statement of p with independent loops, of which n
/// is the last; the parameter S is demanded to be `stride`. No variable gets a name in `used`, to
/// which those of the nest are added. Returns nullopt, with p as it was, if there is no window.
std::optional<Innermost> slid_inward(LoopProgram& p, const Stmt& nest, TileOfIterations tile,
                                     std::int64_t stride, std::set<std::string>& used);

}  // namespace mote
