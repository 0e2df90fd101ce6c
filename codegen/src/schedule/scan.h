// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: carries a reduction over a prefix, which each iteration would compute
// anew, from one iteration to the next.
#pragma once

#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/codegen/schedule.h"

namespace MOTE_API mote {

struct Scanned {
  Symbol variable;  ///< variable, after the step, of the loop along which values are carried
  TakenStep step;
};

/// Turns `for n in 0..N { for c { for k in 0..N with s { s += n - k >= e ? f(k, c) : 0 } y[n, c] =
/// g(s) } }` into `for c { s = 0; for n { if n >= e { s += f(n - e, c) } y[n, c] = g(s) } }`: N
/// iterations instead of N². With k - n >= e, which sums over the terms after n, n runs backwards;
/// the sign may depend on a parameter, as in (1 - 2*$reverse)*(n - k) >= e. The inequality may also
/// stand in limits of the loop over k. It handles sums, products, maxima and minima, with e >= 0
/// over sizes and parameters, f without n, and independent iterations of n and c. Returns the steps
/// taken: along that loop, or along any (null).
std::vector<Scanned> scan_prefixes(LoopProgram& p, const std::string* along = nullptr);

}  // namespace mote
