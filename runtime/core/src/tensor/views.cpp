// SPDX-License-Identifier: Apache-2.0
// Views: other extents and strides for the same memory, and whether two of them overlap.
#include <algorithm>
#include <functional>
#include <string>

#include "mote/base/dlpack.h"
#include "mote/runtime/overlap.h"
#include "mote/runtime/status.h"
#include "mote/runtime/tensor.h"
#include "tensor/view.h"

namespace mote {
namespace {

[[noreturn]] void fail(const std::string& op, const Tensor& x, const std::string& what) {
  throw StatusError(MOTE_INVALID, "tensor: " + op + " of " + describe(x) + ": " + what);
}

}  // namespace

bool equal_forms(const DLTensor& x, const DLTensor& y) {
  if (x.ndim != y.ndim || dtype_of(x) != dtype_of(y) ||
      x.device.device_type != y.device.device_type || x.device.device_id != y.device.device_id)
    return false;
  for (int axis = 0; axis < x.ndim; ++axis)
    if (x.shape[axis] != y.shape[axis] || x.strides[axis] != y.strides[axis]) return false;
  return true;
}

TensorForm form_of(const DLTensor& x) {
  TensorForm form;
  form.dtype = dtype_of(x);
  form.shape = extents_of(x);
  form.strides = strides_list(x);
  form.device = x.device;
  return form;
}

bool overlap(const DLTensor& x, const DLTensor& y) {
  const auto a = memory_of(x);
  const auto b = memory_of(y);
  const std::less<> before;
  if (a.empty() || b.empty() || !before(a.data(), b.data() + b.size()) ||
      !before(b.data(), a.data() + a.size()))
    return false;
  if (address_of(x) == address_of(y)) return true;
  const auto distance = static_cast<std::int64_t>(address_of(y) - address_of(x));
  return share_bytes(ViewPlaces(form_of(x), 0), ViewPlaces(form_of(y), distance));
}

Tensor reshaped_view(const Tensor& x, const AxisList& shape, const AxisList& strides,
                     std::int64_t offset) {
  checked_span(x.dtype(), shape, strides);
  Tensor y = x;
  DLTensor& dl = y.dl();
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    dl.shape[axis] = axis < shape.size() ? shape[axis] : 0;
    dl.strides[axis] = axis < shape.size() ? strides[axis] : 0;
  }
  dl.ndim = shape.size();
  // The sum is unsigned, so that an offset before the first element wraps to the right result.
  dl.byte_offset += static_cast<std::uint64_t>(offset) * size_of(x.dtype());
  return y;
}

Tensor Tensor::within(const Tensor& arena, std::int64_t byte_offset, const TensorForm& form) {
  const auto refuse = [&](const std::string& what) {
    throw StatusError(MOTE_INVALID, "tensor: " + to_string(form) + " at byte " +
                                        std::to_string(byte_offset) + " of an arena of " +
                                        describe(arena) + ": " + what);
  };
  const auto size = static_cast<std::int64_t>(size_of(form.dtype));
  const std::int64_t bytes = form.bytes();
  const TensorForm whole = arena.form();
  const std::int64_t room = whole.bytes();
  if (form.device.device_type != whole.device.device_type ||
      form.device.device_id != whole.device.device_id)
    refuse("the arena is " + to_string(whole) + ", on another device");
  if (byte_offset < 0 || byte_offset > room || bytes > room - byte_offset)
    refuse("it takes " + std::to_string(bytes) + " bytes, the arena has " + std::to_string(room));
  std::int64_t lowest = 0;  // these count elements from the first; they cannot overflow
  for (int axis = 0; axis < form.rank() && bytes > 0; ++axis)
    lowest += std::min<std::int64_t>(0, (form.shape[axis] - 1) * form.strides[axis]);
  std::int64_t lowest_of_arena = 0;
  for (int axis = 0; axis < whole.rank() && room > 0; ++axis)
    lowest_of_arena += std::min<std::int64_t>(0, (whole.shape[axis] - 1) * whole.strides[axis]);
  const std::int64_t first = lowest_of_arena * static_cast<std::int64_t>(size_of(whole.dtype)) +
                             byte_offset - lowest * size;
  const std::uintptr_t address = address_of(arena.dl()) + static_cast<std::uintptr_t>(first);
  if (address % static_cast<std::uintptr_t>(size) != 0)
    refuse("its elements of " + std::to_string(size) + " bytes would not be aligned");
  Tensor y = arena;
  y.raw_.dl.dtype = to_dlpack(form.dtype);
  y.raw_.dl.ndim = form.rank();
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    y.raw_.shape[axis] = axis < form.rank() ? form.shape[axis] : 0;
    y.raw_.strides[axis] = axis < form.rank() ? form.strides[axis] : 0;
  }
  y.raw_.dl.byte_offset += static_cast<std::uint64_t>(first);
  return y;
}

Tensor Tensor::slice(int axis, std::int64_t begin, std::int64_t count, std::int64_t step) const {
  const std::int64_t extent = this->extent(axis);
  const std::string text = "slice " + std::to_string(begin) + ", count " + std::to_string(count) +
                           ", step " + std::to_string(step) + " along axis " + std::to_string(axis);
  if (step == 0) fail(text, *this, "the step must not be 0");
  if (count < 0) fail(text, *this, "the count must be at least 0");
  std::int64_t last = 0;
  const bool overflow = __builtin_mul_overflow(count > 0 ? count - 1 : 0, step, &last) ||
                        __builtin_add_overflow(last, begin, &last);
  const bool inside = begin >= 0 && begin < extent && !overflow && last >= 0 && last < extent;
  const bool empty = count == 0 && begin >= 0 && begin <= extent;
  if (!inside && !empty) fail(text, *this, "leaves 0.." + std::to_string(extent - 1));
  AxisList shape = this->shape();
  AxisList strides = this->strides();
  shape[axis] = count;
  if (count > 1) strides[axis] *= step;
  return reshaped_view(*this, shape, strides, empty ? 0 : begin * stride(axis));
}

Tensor Tensor::select(int axis, std::int64_t index) const {
  const Tensor one = slice(axis, index, 1);
  AxisList shape = one.shape();
  AxisList strides = one.strides();
  shape.erase(axis);
  strides.erase(axis);
  return reshaped_view(one, shape, strides, 0);
}

Tensor Tensor::permute(const AxisList& order) const {
  const std::string text = "permute " + to_string(order);
  if (order.size() != rank()) fail(text, *this, "needs " + std::to_string(rank()) + " axes");
  AxisList shape = this->shape();
  AxisList strides = this->strides();
  std::uint32_t seen = 0;
  for (int k = 0; k < rank(); ++k) {
    if (order[k] < 0 || order[k] >= rank() || (seen >> order[k] & 1U) != 0)
      fail(text, *this, "each axis must stand there once");
    seen |= 1U << order[k];
    shape[k] = raw_.shape[order[k]];
    strides[k] = raw_.strides[order[k]];
  }
  return reshaped_view(*this, shape, strides, 0);
}

Tensor Tensor::broadcast_to(const AxisList& shape) const {
  const std::string text = "broadcast to " + to_string(shape);
  const int missing = shape.size() - rank();
  if (missing < 0) fail(text, *this, "it has more axes than that");
  AxisList strides = shape;
  for (int axis = 0; axis < shape.size(); ++axis) {
    const int own = axis - missing;
    const std::int64_t extent = own < 0 ? 1 : raw_.shape[own];
    if (extent != shape[axis] && extent != 1)
      fail(text, *this,
           "axis " + std::to_string(own) + " must be " + std::to_string(shape[axis]) + " or 1");
    strides[axis] = own < 0 || extent != shape[axis] ? 0 : raw_.strides[own];
  }
  return reshaped_view(*this, shape, strides, 0);
}

namespace {

/// Computes strides for `shape` over the elements of x in row-major order. False if there are none:
/// a group of axes with equal products of extents must be one run in memory.
bool strides_for(const Tensor& x, const AxisList& shape, AxisList& strides) {
  int from = x.rank() - 1;
  int to = shape.size() - 1;
  while (to >= 0) {
    while (from >= 0 && x.extent(from) == 1) --from;
    if (from < 0) {
      for (; to >= 0; --to) strides[to] = 1;  // only extents of 1 remain
      break;
    }
    std::int64_t run = x.extent(from);
    std::int64_t stride = x.stride(from);
    std::int64_t count = 1;
    while (to >= 0 && count < run) {
      strides[to] = stride * count;
      count *= shape[to--];
      while (count > run && from > 0) {
        const int next = from - 1;
        if (x.extent(next) != 1) {
          if (x.stride(next) != stride * run) return false;
          run *= x.extent(next);
        }
        from = next;
      }
    }
    for (; to >= 0 && shape[to] == 1; --to) strides[to] = stride * count;
    if (count != run) return false;
    --from;
  }
  return true;
}

}  // namespace

Tensor Tensor::reshape(const AxisList& shape) const {
  const std::string text = "reshape to " + to_string(shape);
  AxisList strides = checked_strides(dtype(), shape);
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  if (count != element_count())
    fail(text, *this,
         "expected " + std::to_string(element_count()) + " elements, got " + std::to_string(count));
  if (count > 0 && !strides_for(*this, shape, strides))
    fail(text, *this, "strides " + to_string(this->strides()) + " need a copy");
  return reshaped_view(*this, shape, strides, 0);
}

}  // namespace mote
