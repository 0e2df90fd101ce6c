// SPDX-License-Identifier: Apache-2.0
#include "tensor/transposed_copy.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "mote/base/dlpack.h"
#include "mote/base/kernel.h"
#include "mote/generated/kernels.h"
#include "mote/generated/level.h"
#include "tensor/lines.h"

namespace mote {
namespace {

/// Tensors smaller than this many bytes stay in the cache, so the lines that were read are still
/// there.
constexpr std::int64_t kLeastBytes = 1 << 14;
/// The number of rows of a square in vector registers.
constexpr std::int64_t kLeastExtent = 16;

/// Returns a dtype of the size whose elements the gen kernel moves as they are.
DType moved_as(std::size_t size) {
  if (size == 1) return DType::u8;
  if (size == 2) return DType::f16;
  return size == 4 ? DType::f32 : DType::i64;
}

/// Returns false where the kernel of 16 bits is the reference, which converts what it moves, so
/// that a NaN loses its bits: below level 3 of x86-64. Other processors have one level, with all
/// kernels.
bool moves_as_they_are([[maybe_unused]] DType dtype) {
#if defined(__x86_64__)
  constexpr int kLevelOfSixteenBits = 3;
  return dtype != DType::f16 || mote_level() >= kLevelOfSixteenBits;
#else
  return true;
#endif
}

/// Returns the axis, other than the last, along which elements of x are adjacent.
std::optional<std::size_t> adjacent_axis(const JointViews& views) {
  const auto last = static_cast<std::size_t>(views.axes.rank - 1);
  if (views.strides[0][last] != 1 || views.strides[1][last] == 1) return std::nullopt;
  for (std::size_t axis = 0; axis < last; ++axis)
    if (views.strides[1][axis] == 1) return axis;
  return std::nullopt;
}

/// A call of the op on three axes of the tensors: y[batch, n, m] = x[batch, m, n].
class Transposition {
 public:
  Transposition(const mote_kernel& kernel, DType dtype) : kernel_(kernel) {
    for (DLTensor* t : {&x_, &y_})
      *t = {.data = nullptr,
            .device = {kDLCPU, 0},
            .ndim = 3,
            .dtype = to_dlpack(dtype),
            .shape = nullptr,
            .strides = nullptr,
            .byte_offset = 0};
  }

  /// Takes the axes out of the views, with extent 1.
  void take(JointViews& views, const std::array<std::optional<std::size_t>, 3>& axes) {
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t in_x = k == 0 ? 0 : 3 - k;
      const std::int64_t extent = axes[k] ? std::exchange(views.axes.extents[*axes[k]], 1) : 1;
      y_shape_[k] = x_shape_[in_x] = extent;
      y_strides_[k] = axes[k] ? views.strides[0][*axes[k]] : 0;
      x_strides_[in_x] = axes[k] ? views.strides[1][*axes[k]] : 0;
    }
  }

  bool run(const void* x, void* y) {
    x_.data = const_cast<void*>(x);
    x_.shape = x_shape_.data();
    x_.strides = x_strides_.data();
    y_.data = y;
    y_.shape = y_shape_.data();
    y_.strides = y_strides_.data();
    const DLTensor* const inputs[] = {&x_};
    DLTensor* const outputs[] = {&y_};
    const mote_call call{.size = sizeof(mote_call),
                         .op = kernel_.op,
                         .input_count = 1,
                         .output_count = 1,
                         .param_count = 0,
                         .reserved = 0,
                         .inputs = inputs,
                         .outputs = outputs,
                         .params = nullptr,
                         .workspace = nullptr,
                         .workspace_bytes = 0,
                         .message = nullptr,
                         .message_bytes = 0};
    return kernel_.run(&call, nullptr) == MOTE_OK;
  }

 private:
  const mote_kernel& kernel_;
  DLTensor x_, y_;
  std::array<std::int64_t, 3> x_shape_, x_strides_, y_shape_, y_strides_;
};

}  // namespace

bool copy_transposed(const Tensor& x, const Tensor& y) {
  const auto size = static_cast<std::int64_t>(size_of(y.dtype()));
  if (y.element_count() * size < kLeastBytes) return false;
  JointViews views(x, y);
  const std::optional<std::size_t> read = adjacent_axis(views);
  const auto written = static_cast<std::size_t>(views.axes.rank - 1);
  if (!read || views.axes.extents[*read] < kLeastExtent ||
      views.axes.extents[written] < kLeastExtent)
    return false;
  const DType dtype = moved_as(size_of(y.dtype()));
  if (!moves_as_they_are(dtype)) return false;
  const mote_generated_kernel* kernel = find_generated("transpose", "gen", dtype, 1);
  if (kernel == nullptr) return false;
  std::optional<std::size_t> batch;
  for (std::size_t axis = 0; axis < written; ++axis)
    if (axis != *read && (!batch || views.axes.extents[axis] > views.axes.extents[*batch]))
      batch = axis;
  Transposition call(kernel->kernel, dtype);
  call.take(views, {batch, read, written});
  bool done = true;
  views.each_offset(views.axes.rank, [&](std::int64_t x_offset, std::int64_t y_offset) {
    done = done && call.run(static_cast<const std::byte*>(x.data()) + x_offset * size,
                            static_cast<std::byte*>(y.data()) + y_offset * size);
  });
  return done;
}

}  // namespace mote
