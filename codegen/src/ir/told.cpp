// SPDX-License-Identifier: Apache-2.0
// Decides what dtypes follow from an operation, in both directions. In: an op, what its arguments
// tell; out: what it tells, or what is known of its arguments.
#include "ir/told.h"

namespace mote {
namespace {

/// Returns the only dtype that the op takes, if there is one.
std::optional<DType> only_dtype(const MapOpInfo& op) {
  if (op.accepts == MapOpInfo::kBoolean) return DType::boolean;
  if (op.accepts == MapOpInfo::kI64) return DType::i64;
  return std::nullopt;
}

Told of_all(MapOp op, std::span<const Told> args) {
  if (op == MapOp::where && !args.empty()) args = args.subspan(1);
  Told all;
  for (const Told& one : args) all = either(all, one);
  return all;
}

}  // namespace

Told either(const Told& a, const Told& b) {
  if (a.strength != b.strength) return a.strength > b.strength ? a : b;
  const bool takes_b = a.strength == Told::Strength::weak && !is_real(a.dtype) && is_real(b.dtype);
  return takes_b ? b : a;
}

Told told_by(MapOp op, std::span<const Told> args, DType to) {
  if (op == MapOp::cast) return Told::strongly(to);
  if (info(op).gives_bool) return Told::strongly(DType::boolean);
  if (const auto only = only_dtype(info(op))) return Told::strongly(*only);
  return of_all(op, args);
}

std::optional<DType> known_of_arguments(MapOp op, std::optional<DType> result,
                                        std::span<const Told> args) {
  if (op == MapOp::cast) return of_all(op, args).known();
  if (const auto only = only_dtype(info(op))) return only;
  if (result && !info(op).gives_bool) return result;
  return of_all(op, args).known();
}

DType real_dtype_of(const std::vector<TensorDecl>& tensors) {
  for (const TensorDecl& t : tensors)
    if (t.role != TensorRole::temporary && is_real(t.dtype)) return t.dtype;
  return DType::f64;
}

DType result_dtype(ReduceOp op, DType folded) {
  if (op == ReduceOp::argmax || op == ReduceOp::argmin) return DType::i64;
  if (op == ReduceOp::any || op == ReduceOp::all) return DType::boolean;
  return folded;
}

}  // namespace mote
