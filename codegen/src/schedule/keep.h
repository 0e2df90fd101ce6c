// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: keeps a costly value that two loops compute in an output.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/schedule.h"

namespace mote {

/// Turns `for n with s { s += exp(f(n)) } … for m { y[m] = exp(f(m))/s }`, where y has the dtype of
/// the exp, into `for n with s { e = exp(f(n)); y[n] = e; s += e } … for m { y[m] = y[m]/s }`. This
/// is done only if all elements that the two loops read are at the index where y is written, so
/// that y may share memory with one of the tensors read. Returns the steps, one for
/// each value that is kept: in that output, or in any (null).
std::vector<TakenStep> keep_in_outputs(LoopProgram& p, const std::string* output = nullptr);

}  // namespace mote
