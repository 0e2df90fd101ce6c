// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: a costly value that two loops compute is kept in an output.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// `for n with s { s += exp(f(n)) } … for m { y[m] = exp(f(m))/s }`, where y has the dtype of the
/// exp, becomes `for n with s { e = exp(f(n)); y[n] = e; s += e } … for m { y[m] = y[m]/s }`. Only
/// where all elements that the two loops read stand where y is written, so that y may be the memory
/// of one of them. Returns what was kept, a line each.
std::vector<std::string> keep_in_outputs(LoopProgram& p);

}  // namespace mote
