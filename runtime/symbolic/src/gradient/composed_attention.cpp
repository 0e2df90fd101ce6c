// SPDX-License-Identifier: Apache-2.0
// Attention as it is written with other ops: scores, a softmax that is 0 where no key is seen, and
// a product with the values.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "gradient/composed.h"

namespace mote {
namespace {

using Value = FormulaValue;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Returns the least finite number of the value's dtype, or near it.
double lowest_of(Value v) {
  switch (v.formula->dtype(v)) {
    case DType::f64:
      return std::numeric_limits<double>::lowest();
    case DType::f16:
      return -65504;
    default:
      return -3e38;  // f32 and bf16
  }
}

/// Returns x with its heads, the third axis from the end, as axes of the groups' number and size.
Value by_groups(Formula& f, Value x, std::int64_t groups, std::int64_t size) {
  AxisList shape;
  const AxisList own = f.shape(x);
  const int heads = own.size() - 3;
  if (heads < 0) return x;
  for (int axis = 0; axis < own.size(); ++axis) {
    if (axis != heads) {
      shape.push_back(own[axis]);
      continue;
    }
    shape.push_back(own[axis] == 1 ? 1 : groups);
    shape.push_back(own[axis] == 1 ? 1 : size);
  }
  return f.reshaped(x, shape);
}

/// Returns the values of bools [T, S] that are true where the query sees the key; none if all are
/// seen.
std::optional<Value> seen_keys(Formula& f, std::int64_t queries, std::int64_t keys) {
  const auto number = [&](const char* param) { return static_cast<std::int64_t>(f.param(param)); };
  const std::int64_t own = number("anchor") * (keys - queries);
  const std::int64_t before = number("window0");
  std::int64_t behind = number("window1");
  if (number("causal") != 0) behind = behind < 0 ? 0 : std::min<std::int64_t>(behind, 0);
  if (before < 0 && behind < 0) return std::nullopt;
  Value seen = f.filled(1, {queries, keys});
  if (behind >= 0) seen = f.op("tril diagonal=" + std::to_string(own + behind), {seen});
  if (before >= 0) seen = f.op("triu diagonal=" + std::to_string(own - before), {seen});
  return f.op("greater", {seen, f.number(0)});
}

/// Reduces the last axis, which stays with the extent 1.
Value along_keys(Formula& f, const std::string& op, Value x) {
  AxisList kept = f.shape(x);
  const int last = kept.size() - 1;
  kept[last] = 1;
  return f.reshaped(f.op(op + " axis=" + std::to_string(last), {x}), kept);
}

Value attention_scores(Formula& f, std::int64_t groups, std::int64_t size) {
  const AxisList of_q = f.shape(f.x(0));
  const double given = f.param("scale");
  const double depth = static_cast<double>(of_q[of_q.size() - 1]);
  Value scores = f.op("matmul", {by_groups(f, f.x(0), groups, size),
                                 f.transposed(by_groups(f, f.x(1), groups, 1))});
  scores = (given == 0 ? 1 / std::sqrt(depth) : given) * scores;
  if (f.has_param("softcap")) {
    const double cap = f.param("softcap");
    scores = cap * f.op("tanh", {1 / cap * scores});
  }
  return f.has(3) ? scores + by_groups(f, f.x(3), groups, size) : scores;
}

}  // namespace

void write_attention(Formula& f) {
  const AxisList of_q = f.shape(f.x(0));
  const AxisList of_k = f.shape(f.x(1));
  const std::int64_t groups = of_k[of_k.size() - 3];
  const std::int64_t size = groups == 0 ? 0 : of_q[of_q.size() - 3] / groups;
  const Value scores = attention_scores(f, groups, size);
  const auto seen = seen_keys(f, of_q[of_q.size() - 2], of_k[of_k.size() - 2]);
  const auto where_seen = [&](Value v, double otherwise) {
    return seen ? f.op("where", {*seen, v, f.number(otherwise)}) : v;
  };
  // Any number near the greatest score will do; no gradient flows through floor.
  const Value greatest = along_keys(f, "reduce_max", where_seen(scores, lowest_of(scores)));
  const Value is_none = f.op("equal", {greatest, f.number(-kInfinity)});
  const Value m = f.op("where", {is_none, f.number(0), f.op("floor", {greatest})});
  const Value e = where_seen(f.op("exp", {where_seen(scores - m, 0)}), 0);
  const Value total = along_keys(f, "sum", e);
  const Value divisor = f.op("where", {f.op("equal", {total, f.number(0)}), f.number(1), total});
  const Value y = f.op("matmul", {e, by_groups(f, f.x(2), groups, 1)}) / divisor;
  const AxisList by_group = f.shape(y);
  AxisList shape;
  for (int axis = 0; axis < by_group.size(); ++axis)
    if (axis == by_group.size() - 3)
      shape[axis - 1] *= by_group[axis];
    else
      shape.push_back(by_group[axis]);
  f.give(0, f.reshaped(y, shape));
  f.give(1, f.reshaped(m + f.op("log", {divisor}), shape_without_last(shape)));
}

}  // namespace mote
