// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: a reduction over a prefix, which each round takes anew, is carried on.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

struct Scanned {
  Symbol variable;  ///< of the loop along which it is carried
  std::string step;
};

/// `for n in 0..N { for c { for k in 0..N with s { s += n - k >= e ? f(k, c) : 0 } y[n, c] = g(s) }
/// }` becomes `for c { s = 0; for n { if n >= e { s += f(n - e, c) } y[n, c] = g(s) } }`: N rounds
/// instead of N². With k - n >= e, sums over what is behind n, n runs backwards; the sign may
/// depend on a parameter, as in (1 - 2*$reverse)*(n - k) >= e. The inequality may stand in limits
/// of the loop over k, too. Sums, products, maxima and minima; e >= 0, of sizes and parameters; f
/// without n; the rounds of n and c independent. Returns what was done.
std::vector<Scanned> scan_prefixes(LoopProgram& p);

}  // namespace mote
