// SPDX-License-Identifier: Apache-2.0
#include "tensor/runs.h"

#include <algorithm>
#include <cstring>

#include "mote/base/dlpack.h"
#include "mote/runtime/status.h"

namespace mote {
namespace {

/// Returns the runs of a call without an axis: excess axes go to the first canonical axis; missing
/// axes leave the first canonical ones empty, if those are a batch or repeat.
Runs leading_runs(const mote_op_definition& op, const CallOperand& o, const char* first_batch) {
  const mote_op_tensor& m = *o.meaning;
  const int extra = o.rank() - m.rank;
  const bool takes = m.rank > 0 && first_batch != nullptr && same_axis(m.axes[0], first_batch);
  if (extra > 0 && !takes)
    refuse(op, std::string(m.name) + " must have at most " + std::to_string(m.rank) +
                   " axes, got " + text_of(o));
  for (int k = 0; k < -extra; ++k)
    if (!flag(m.batch | m.broadcast, k))
      refuse(op, std::string(m.name) + " must have at least " + std::to_string(m.rank - k) +
                     " axes, got " + text_of(o));
  Runs runs{};
  for (int k = 0; k < m.rank; ++k) runs.count[at(k)] = k + extra >= 0 ? 1 : 0;
  if (extra > 0) runs.count[0] += extra;
  return runs;
}

/// The meaning of the command's axis for the op.
struct AxisForm {
  const char* before = nullptr;  ///< the size that the axes before it stand for
  const char* along = nullptr;
  const char* behind = nullptr;  ///< null: it and the later axes are `along`
  int axis = 0;
  int rank = 0;  ///< the rank of the first input
};

/// True if no output has the axis: the op adds up over it, or the like.
bool is_reduced(const mote_op_definition& op, const char* axis) {
  for (std::int32_t k = 0; k < op.output_count; ++k)
    if (find_axis(op.outputs[k], axis) != kUnused) return false;
  return true;
}

/// True for an op over [R, K, C] that works along K and reduces R and C, such as cross_entropy.
bool reduces_the_others(const mote_op_definition& op, const mote_op_tensor& m) {
  return m.rank == 3 && !flag(m.batch, 0) && !flag(m.batch, 2) && is_reduced(op, m.axes[0]) &&
         is_reduced(op, m.axes[2]);
}

bool is_loss_over_classes(const mote_op_definition& op, std::span<const CallOperand> operands) {
  return std::strcmp(op.family, "loss") == 0 && !operands.empty() && !operands.front().is_output &&
         operands.front().meaning->rank == 3;
}

AxisForm axis_form(const mote_op_definition& op, int axis, std::span<const CallOperand> operands) {
  const mote_op_tensor& m = *operands.front().meaning;
  const bool ok = (m.rank == 3 && m.batch == 0b101U) || (m.rank == 2 && m.batch == 0b01U) ||
                  reduces_the_others(op, m);
  if (!ok)
    refuse(op, "it works along no axis that could be chosen, got axis " + std::to_string(axis));
  const int rank = operands.front().rank();
  if (axis < -rank || axis >= rank)
    refuse(op, "axis must be in " + std::to_string(-rank) + ".." + std::to_string(rank - 1) +
                   ", got " + std::to_string(axis) + " (" + text_of(operands.front()) + ")");
  return {.before = m.axes[0],
          .along = m.axes[1],
          .behind = m.rank == 3 ? m.axes[2] : nullptr,
          .axis = axis < 0 ? axis + rank : axis,
          .rank = rank};
}

/// Returns the runs of a tensor that holds some of before, along, behind, in this order. One
/// without `along` may keep it as an axis of extent 1, which then counts as one of those behind it
/// (or before it).
Runs axis_runs(const mote_op_definition& op, const CallOperand& o, const AxisForm& form) {
  const mote_op_tensor& m = *o.meaning;
  Runs runs{};
  int left = o.rank();
  for (int k = 0; k < m.rank; ++k) {
    const bool last = k == m.rank - 1;
    const bool before = same_axis(m.axes[k], form.before);
    const bool single = form.behind != nullptr && !before && !same_axis(m.axes[k], form.behind);
    const int wanted = last ? left : before ? form.axis : 1;
    runs.count[at(k)] = std::min(wanted, left);
    if (last && single && wanted != 1)
      refuse(op, "the rank of " + text_of(o) + " does not fit axis " + std::to_string(form.axis));
    left -= runs.count[at(k)];
  }
  return runs;
}

}  // namespace

void refuse(const mote_op_definition& op, const std::string& what, mote_status status) {
  throw StatusError(status, std::string(op.name) + ": " + what);
}

void find_runs(const mote_op_definition& op, std::optional<int> axis,
               std::span<const CallOperand> operands, std::span<Runs> runs) {
  const mote_op_tensor* y = op.output_count > 0 ? op.outputs : nullptr;
  const char* first_batch = y != nullptr && y->rank > 0 && flag(y->batch, 0) ? y->axes[0] : nullptr;
  if (!axis && is_loss_over_classes(op, operands) && operands.front().rank() != 3)
    axis = 1;  // classes follow the first axis: [N, K], [N, K, H, W]
  const AxisForm form = axis ? axis_form(op, *axis, operands) : AxisForm{};
  for (std::size_t n = 0; n < operands.size(); ++n)
    runs[n] = axis ? axis_runs(op, operands[n], form) : leading_runs(op, operands[n], first_batch);
}

int begin_of(const Runs& runs, int k) {
  int begin = 0;
  for (int before = 0; before < k; ++before) begin += runs.count[at(before)];
  return begin;
}

int find_axis(const mote_op_tensor& m, const char* size) {
  for (int k = 0; k < m.rank; ++k)
    if (same_axis(m.axes[k], size)) return k;
  return kUnused;
}

std::string text_of(const CallOperand& o) {
  return std::string(o.meaning->name) + " " + describe(*o.tensor);
}

}  // namespace mote
