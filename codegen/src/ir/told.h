// SPDX-License-Identifier: Apache-2.0
// Says what the text of a value tells about its dtype. The printer writes dtypes where the text
// tells nothing or something else, and the parser reads by the same rules: a constant has the dtype
// that is known where it stands, from the tensor that is stored or from an operand beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mote/codegen/loops.h"
#include "mote/uops/map_ops.h"

namespace mote {

/// A tensor, a name and a cast tell a dtype. An index expression and a parameter have one only
/// where nothing else tells any, a constant never.
struct Told {
  enum class Strength : std::uint8_t { none, weak, strong };
  Strength strength = Strength::none;
  DType dtype = DType::i64;

  static Told strongly(DType dtype) { return {Strength::strong, dtype}; }
  static Told weakly(DType dtype) { return {Strength::weak, dtype}; }
  std::optional<DType> known() const {
    return strength == Strength::none ? std::nullopt : std::optional(dtype);
  }
};

/// Returns the stronger one; of two weak ones a real, of two strong ones the first.
Told either(const Told& a, const Told& b);
/// Returns what op(args) tells; `to` is what a cast casts to.
Told told_by(MapOp op, std::span<const Told> args, DType to);
/// Returns the dtype that is known of the arguments of op (apart from the condition of `where`), if
/// `result` is known of what it gives.
std::optional<DType> known_of_arguments(MapOp op, std::optional<DType> result,
                                        std::span<const Told> args);

/// Returns the dtype of a real parameter where nothing else tells one: that of the first input or
/// output that is real.
DType real_dtype_of(const std::vector<TensorDecl>& tensors);

/// Returns the dtype of what an accumulator of values of dtype `folded` holds.
DType result_dtype(ReduceOp op, DType folded);

}  // namespace mote
