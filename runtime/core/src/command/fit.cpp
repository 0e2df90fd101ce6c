// SPDX-License-Identifier: Apache-2.0
// Fits tensors to a kernel: each canonical axis of a tensor gets a run of the tensor's own axes,
// and runs of one size in several tensors are merged together. The axes that remain become the
// batch.
#include "command/fit.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "mote/runtime/status.h"
#include "tensor/runs.h"
#include "tensor/small_array.h"

namespace mote {
namespace {

/// The axes of one size, over all operands that have it.
struct AxisGroup {
  const char* size;
  JointAxes axes;
  bool batch = false;
};

/// Returns the extents of the longest run; among runs of equal length an output's are preferred to
/// an input's.
AxisGroup joint_extents(const char* size, std::span<const CallOperand> operands,
                        std::span<const Runs> runs) {
  AxisGroup group{.size = size, .axes = {}};
  for (std::size_t n = operands.size(); n-- > 0;) {
    const int k = find_axis(*operands[n].meaning, size);
    if (k == kUnused || runs[n].count[at(k)] <= group.axes.rank) continue;
    group.axes.rank = runs[n].count[at(k)];
    group.batch = flag(operands[n].meaning->batch, k);
    const int begin = begin_of(runs[n], k);
    for (int a = 0; a < group.axes.rank; ++a)
      group.axes.extents[at(a)] = operands[n].extent(begin + a);
  }
  return group;
}

/// Computes the operand's strides along the group, aligned at its end. A missing axis or one of
/// extent 1 repeats if the op allows it.
void align(const mote_op_definition& op, const CallOperand& o, const Runs& runs, int k,
           const AxisGroup& group, AxisStrides& strides) {
  const int run = runs.count[at(k)];
  const int missing = group.axes.rank - run;
  const int begin = begin_of(runs, k);
  const bool repeats = flag(o.meaning->broadcast, k);
  for (int a = 0; a < group.axes.rank; ++a) {
    const std::int64_t wanted = group.axes.extents[at(a)];
    const std::int64_t extent = a < missing ? 1 : o.extent(begin + a - missing);
    const bool equal = extent == wanted;
    if (!equal && !(repeats && extent == 1))
      refuse(op,
             "axes of " + text_of(o) + " do not fit: " + std::string(group.size) + " is " +
                 to_string(AxisList(std::span(group.axes.extents.data(), at(group.axes.rank)))));
    strides[at(a)] = equal && a >= missing ? o.stride(begin + a - missing) : 0;
  }
}

/// Merges the group's axes; the last one that remains is the kernel's, the others go to the batch.
class Fitter {
 public:
  Fitter(const mote_op_definition& op, std::span<const CallOperand> operands,
         std::span<KernelView> views, std::span<AxisStrides> scratch)
      : op_(op), operands_(operands), views_(views), scratch_(scratch) {}

  Batch batch;

  /// Expects in scratch the strides of the operands that hold the group, and 0 for the others.
  void merge(AxisGroup& group) {
    const int left = merge_axes(group.axes, scratch_, 0, group.axes.rank);
    for (int a = 0; a + 1 < left; ++a) {
      if (!group.batch)
        refuse(op_,
               std::string("the axes of ") + group.size +
                   " must be one, and their strides do not allow to merge them",
               MOTE_UNSUPPORTED);
      move_to_batch(group.axes.extents[at(a)], a);
    }
    last_ = left - 1;
  }
  std::int64_t extent(const AxisGroup& group) const {
    return last_ >= 0 ? group.axes.extents[at(last_)] : 1;
  }
  std::int64_t stride(std::size_t operand) const {
    return last_ >= 0 ? scratch_[operand][at(last_)] : 0;
  }

  void move_to_batch(std::int64_t extent, int axis) {
    if (batch.rank == kMaxAxes)
      refuse(op_, "more than 12 axes are left to batch", MOTE_UNSUPPORTED);
    batch.extents[at(batch.rank)] = extent;
    for (std::size_t n = 0; n < operands_.size(); ++n)
      views_[n].batch_strides[at(batch.rank)] = scratch_[n][at(axis)];
    ++batch.rank;
  }

 private:
  const mote_op_definition& op_;
  std::span<const CallOperand> operands_;
  std::span<KernelView> views_;
  std::span<AxisStrides> scratch_;
  int last_ = -1;
};

/// Gives the kernel one axis for the run of one tensor, unchanged: the kernel checks it.
void keep_axis(const CallOperand& o, const Runs& runs, int k, KernelView& view) {
  const int begin = begin_of(runs, k);
  const bool there = runs.count[at(k)] == 1;
  view.extents[at(k)] = there ? o.extent(begin) : 1;
  view.strides[at(k)] = there ? o.stride(begin) : 0;
}

}  // namespace

bool is_pointwise(const mote_op_definition& op) {
  if (op.output_count == 0) return false;
  const mote_op_tensor& y = op.outputs[0];
  const std::uint32_t all = y.rank > 0 ? (1U << y.rank) - 1 : 0;
  const auto like_y = [&](const mote_op_tensor& t) {
    if (t.rank != y.rank || t.batch != all || y.rank == 0) return false;
    for (int k = 0; k < t.rank; ++k)
      if (!same_axis(t.axes[k], y.axes[k])) return false;
    return true;
  };
  return std::all_of(op.inputs, op.inputs + op.input_count, like_y) &&
         std::all_of(op.outputs, op.outputs + op.output_count, like_y);
}

namespace {

/// Treats all axes as one group: they are sorted by the order in memory and merged, and the
/// innermost go to the kernel.
Batch fit_pointwise(const mote_op_definition& op, std::span<const CallOperand> operands,
                    std::span<KernelView> views, std::span<AxisStrides> scratch) {
  const int kernel_rank = op.outputs[0].rank;
  const CallOperand& y = operands.back();
  AxisGroup group{.size = "the shape", .axes = {.rank = y.rank(), .extents = {}}, .batch = true};
  for (int a = 0; a < y.rank(); ++a) group.axes.extents[at(a)] = y.extent(a);
  for (std::size_t n = 0; n < operands.size(); ++n) {
    const CallOperand& o = operands[n];
    const bool repeats = o.meaning->broadcast != 0;
    const bool fits = o.rank() == y.rank() || (repeats && o.rank() < y.rank());
    if (!fits)
      refuse(op, text_of(o) + " has " + std::to_string(o.rank()) + " axes, expected " +
                     (repeats ? "at most " : "") + std::to_string(y.rank()) + " (" +
                     text_of(operands.back()) + ")");
    Runs runs{};
    runs.count[0] = o.rank();
    align(op, o, runs, 0, group, scratch[n]);
  }
  // Outputs decide the order, so they come first.
  std::ranges::reverse(scratch);
  order_axes(group.axes, scratch);
  std::ranges::reverse(scratch);
  const int left = merge_axes(group.axes, scratch, 0, group.axes.rank);
  Fitter fitter(op, operands, views, scratch);
  const int batched = std::max(left - kernel_rank, 0);
  for (int a = 0; a < batched; ++a) fitter.move_to_batch(group.axes.extents[at(a)], a);
  const int missing = std::max(kernel_rank - left, 0);
  for (std::size_t n = 0; n < operands.size(); ++n) {
    views[n].rank = kernel_rank;
    for (int k = 0; k < kernel_rank; ++k) {
      const int from = batched + k - missing;
      views[n].extents[at(k)] = k < missing ? 1 : group.axes.extents[at(from)];
      views[n].strides[at(k)] = k < missing ? 0 : scratch[n][at(from)];
    }
  }
  return fitter.batch;
}

}  // namespace

Batch fit(const mote_op_definition& op, bool pointwise, std::optional<int> axis,
          std::span<const CallOperand> operands, std::span<KernelView> views,
          std::span<AxisStrides> scratch) {
  if (!axis && pointwise) return fit_pointwise(op, operands, views, scratch);
  SmallArray<Runs, kFewOperands> room(operands.size());
  const std::span<Runs> runs = room.get();
  find_runs(op, axis, operands, runs);
  for (std::size_t n = 0; n < operands.size(); ++n) {
    views[n].rank = operands[n].meaning->rank;
    for (int k = 0; k < views[n].rank; ++k)
      if (runs[n].count[at(k)] <= 1) keep_axis(operands[n], runs[n], k, views[n]);
  }

  Fitter fitter(op, operands, views, scratch);
  for (std::size_t n = 0; n < operands.size(); ++n) {
    for (int k = 0; k < views[n].rank; ++k) {
      if (runs[n].count[at(k)] <= 1 || flag(runs[n].done, k)) continue;
      AxisGroup group = joint_extents(operands[n].meaning->axes[k], operands, runs);
      for (std::size_t m = 0; m < operands.size(); ++m) {
        scratch[m] = {};
        const int own = find_axis(*operands[m].meaning, group.size);
        if (own != kUnused) align(op, operands[m], runs[m], own, group, scratch[m]);
      }
      fitter.merge(group);
      for (std::size_t m = 0; m < operands.size(); ++m) {
        const int own = find_axis(*operands[m].meaning, group.size);
        if (own == kUnused) continue;
        views[m].extents[at(own)] = fitter.extent(group);
        views[m].strides[at(own)] = fitter.stride(m);
        runs[m].done |= 1U << own;
      }
    }
  }
  return fitter.batch;
}

}  // namespace mote
