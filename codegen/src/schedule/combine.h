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

/// Returns true if two partial results are combined in one operation, that `name(op)` names.
inline bool is_combined(ReduceOp op) { return combine_of(op).has_value(); }

/// Returns the reduction that `op` combines; nullopt for `set`.
inline std::optional<ReduceOp> reduction_of(ScatterOp op) {
  for (const ReduceOp reduction : {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min})
    if (combine_of(reduction) == op) return reduction;
  return std::nullopt;
}

/// Returns true if lanes, or the elements of an array, can hold the accumulator: any order is
/// allowed, no position is needed. Sums and products of integers wrap, so that all orders give one
/// result.
inline bool has_lanes(const Accumulator& a) {
  return combine_of(a.op).has_value() && a.dtype != DType::boolean;
}

}  // namespace mote
