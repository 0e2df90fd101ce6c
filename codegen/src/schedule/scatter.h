// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: elements that sum over the windows that hold them get these terms from
// loops over the windows instead, which need no division to find an element. With a window o of
// stride s, tap k of dilation d and p elements of padding,
//
//     for h in 0..H { for k in 0..K with a = sum { if (h + p - k·d) % s == 0 {
//       a += f((h + p - k·d)/s, k) } } g[h] = a }
//
// becomes
//
//     for h in 0..H { g[h] = 0 }
//     for k in 0..K { for o in 0..O { if 0 <= h' < H { g[h'] += f(o, k) } } }    h' = o·s + k·d - p
//
// where O is the extent of the axis that f reads at o. Each element gets its terms in the same
// order. It is the gradient of a pooling.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// Changes all such loops of the program, and says which; empty if there are none.
std::vector<std::string> scatter_windows(LoopProgram& p);

}  // namespace mote
