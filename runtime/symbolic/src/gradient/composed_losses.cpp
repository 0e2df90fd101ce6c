// SPDX-License-Identifier: Apache-2.0
// Losses over classes, with weights and smoothing, as they are written with other ops.
#include <cstdint>
#include <string>
#include <string_view>

#include "gradient/composed.h"

namespace mote {
namespace {

using Value = FormulaValue;

/// The targets of a loss, each as the only one along the axis of classes.
struct Targets {
  Value at;          ///< 0 where the target does not count
  Value is_ignored;  ///< bools
};

Targets targets_of(Formula& f) {
  const AxisList shape = f.shape(f.x(0));
  const Value given = f.reshaped(f.x(1), {shape[0], 1, shape[2]});
  const Value is_ignored = f.op("equal", {given, f.number_like(f.param("ignore_index"), given)});
  return {f.op("where", {is_ignored, f.number_like(0, given), given}), is_ignored};
}

/// Returns v, or 0 for a target that does not count.
Value where_counted(Formula& f, const Targets& targets, Value v) {
  return f.op("where", {targets.is_ignored, f.number(0), v});
}

/// Returns the weights of the targets.
Value weights_of(Formula& f, const Targets& targets) {
  if (!f.has(2)) return where_counted(f, targets, f.number(1));
  const AxisList shape = f.shape(targets.at);
  const Value flat = f.reshaped(targets.at, {shape[0] * shape[2]});
  return where_counted(f, targets, f.reshaped(f.op("gather axis=0", {f.x(2), flat}), shape));
}

/// Returns the mean over all classes of the losses, with their weights.
Value even_share(Formula& f, const Targets& targets, Value logs) {
  const std::int64_t classes = f.shape(logs)[1];
  const Value weighted = f.has(2) ? logs * f.reshaped(f.x(2), {1, classes, 1}) : logs;
  const Value sums = f.op("sum axis=1", {weighted});
  return where_counted(f, targets,
                       1 / static_cast<double>(classes) * f.reshaped(sums, f.shape(targets.at)));
}

}  // namespace

void write_class_loss(Formula& f, std::string_view op) {
  const bool has_softmax = op.starts_with("cross_entropy");
  const Value logs = has_softmax ? f.op("log_softmax axis=1", {f.x(0)}) : f.x(0);
  const Targets targets = targets_of(f);
  const Value weights = weights_of(f, targets);
  const double smoothing = has_softmax ? f.param("smoothing") : 0;
  Value losses = where_counted(
      f, targets, (smoothing - 1) * (weights * f.op("gather_elements", {logs, targets.at})));
  if (smoothing != 0) losses = losses - smoothing * even_share(f, targets, logs);
  if (op.ends_with("_none")) {
    const AxisList shape = f.shape(targets.at);
    return f.give(0, f.reshaped(losses, {shape[0], shape[2]}));
  }
  const Value total = f.sum_all(losses);
  f.give(0, f.param("mean") != 0 ? total / f.sum_all(weights) : total);
}

}  // namespace mote
