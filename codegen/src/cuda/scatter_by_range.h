// SPDX-License-Identifier: Apache-2.0
// Makes scatters run on several threads, with each element still computed by one thread in the
// given order.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "mote/codegen/loops.h"
#include "split_reduction.h"

namespace mote::cuda {

/// Turns a nest that scatters into one whose outer loops are independent: the loops that are an
/// axis of the tensor, and loops over ranges of other axes, in which only the stores to that range
/// run. `p`'s statements may be those of one stage. Returns nullopt if there is no such nest.
std::optional<SplitReduction> scattered_by_range(const LoopProgram& p);

/// Gives temporaries, none of `others`, that each iteration of a loop at top level fills before any
/// other use an axis for that loop, which makes its iterations independent. Returns nullopt if
/// there are none.
std::optional<LoopProgram> with_own_memory(const LoopProgram& p,
                                           const std::set<std::string>& others);

}  // namespace mote::cuda
