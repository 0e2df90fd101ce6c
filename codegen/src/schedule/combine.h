// SPDX-License-Identifier: Apache-2.0
// Turns folds into stores that reduce, for steps that keep accumulators in tensors.
#pragma once

#include <optional>

#include "mote/codegen/loops.h"

namespace mote {

/// Returns nullopt for reductions that remember a position and for any and all.
inline std::optional<ScatterOp> combine_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return ScatterOp::add;
    case ReduceOp::prod:
      return ScatterOp::mul;
    case ReduceOp::max:
      return ScatterOp::max;
    case ReduceOp::min:
      return ScatterOp::min;
    default:
      return std::nullopt;
  }
}

}  // namespace mote
