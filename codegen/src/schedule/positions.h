// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: finds the position of a greatest or least value by two reductions that
// vectors can take.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// Turns `for n in 0..N with a { a argmax= x[n] at n }` into `for n in 0..N with m { m max= x[n] }`
/// and `for n in 0..N with a { a min= (x[n] equals m ? n : the greatest i64) }`, where NaN equals
/// NaN: the first NaN wins, otherwise the first of the greatest values. An empty loop gives -1, as
/// before. Loops that fold nothing else, and whose value is an element that may be read twice, are
/// taken; where x[n] is x[$f*(N - 1) + (1 - 2*$f)*n], which is x backwards if the parameter $f is
/// 1, both loops run along x. Returns the steps taken.
std::vector<std::string> find_positions(LoopProgram& p);

}  // namespace mote
