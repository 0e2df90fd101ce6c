// SPDX-License-Identifier: Apache-2.0
// One byte pattern under several names: import and export of DLPack, and images.
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "mote/base/dlpack.h"
#include "mote/runtime/status.h"
#include "mote/runtime/tensor.h"
#include "tensor/storage.h"

namespace mote {

// These conditions make the casts valid.
static_assert(offsetof(mote_tensor, dl) == 0);
static_assert(sizeof(mote_image) == sizeof(mote_tensor));
static_assert(offsetof(mote_image, data) == offsetof(mote_tensor, dl.data));
static_assert(offsetof(mote_image, device) == offsetof(mote_tensor, dl.device));
static_assert(offsetof(mote_image, axes) == offsetof(mote_tensor, dl.ndim));
static_assert(offsetof(mote_image, dtype) == offsetof(mote_tensor, dl.dtype));
static_assert(offsetof(mote_image, extents) == offsetof(mote_tensor, dl.shape));
static_assert(offsetof(mote_image, strides) == offsetof(mote_tensor, dl.strides));
static_assert(offsetof(mote_image, byte_offset) == offsetof(mote_tensor, dl.byte_offset));
static_assert(offsetof(mote_image, rows) == offsetof(mote_tensor, shape));
static_assert(offsetof(mote_image, channels) == offsetof(mote_tensor, shape[2]));
static_assert(offsetof(mote_image, step) == offsetof(mote_tensor, strides));
static_assert(offsetof(mote_image, channel_step) == offsetof(mote_tensor, strides[2]));
static_assert(offsetof(mote_image, storage) == offsetof(mote_tensor, storage));

namespace {

/// An exported DLPack: the tensor in it keeps the memory.
struct Exported {
  DLManagedTensor managed;
  Tensor tensor;
  Allocator allocator;
};

void release_exported(DLManagedTensor* managed) {
  auto* exported = static_cast<Exported*>(managed->manager_ctx);
  const Allocator allocator = exported->allocator;
  exported->~Exported();
  allocator.release(allocator.context, exported, sizeof(Exported), kAlignment);
}

[[noreturn]] void reject(const std::string& what) {
  throw StatusError(MOTE_INVALID, "import_dlpack: " + what);
}

/// Checks a DLTensor from outside, except for its sizes.
void check_foreign(const DLManagedTensor* managed) {
  if (managed == nullptr) reject("the tensor is null");
  const DLTensor& t = managed->dl_tensor;
  if (t.ndim < 0 || t.ndim > kMaxAxes)
    reject("at most " + std::to_string(kMaxAxes) + " axes, got " + std::to_string(t.ndim));
  if (t.ndim > 0 && t.shape == nullptr) reject("the shape is null");
  const std::optional<DType> dtype = from_dlpack(t.dtype);
  if (!dtype) reject("unknown element type in " + describe(t));
  if (t.byte_offset > PTRDIFF_MAX) reject("the offset of " + describe(t) + " is out of range");
  const auto address = reinterpret_cast<std::uintptr_t>(t.data) + t.byte_offset;
  if (t.device.device_type == kDLCPU && address % size_of(*dtype) != 0)
    reject(describe(t) + " is not aligned to its elements");
}

void check_image(bool three_axes, bool bound, const std::string& text) {
  if (!three_axes)
    throw StatusError(MOTE_INVALID, "image: needs 3 axes (rows, columns, channels), got " + text);
  if (!bound)
    throw StatusError(MOTE_INVALID,
                      "image: extents must point to rows and strides to step of the same struct");
}

}  // namespace

Tensor import_dlpack(DLManagedTensor* managed, const Allocator& allocator) {
  check_foreign(managed);
  const DLTensor& t = managed->dl_tensor;
  const AxisList shape = shape_of(t);
  const DType dtype = *from_dlpack(t.dtype);
  const AxisList strides = t.strides == nullptr
                               ? checked_strides(dtype, shape)
                               : AxisList(std::span(t.strides, static_cast<std::size_t>(t.ndim)));
  Tensor tensor(dtype, shape, strides, t.data, t.device);
  tensor.raw_.dl.byte_offset = t.byte_offset;
  if (t.data == nullptr && tensor.element_count() > 0) reject(describe(t) + " has no data");
  tensor.raw_.storage = make_storage(0, allocator);
  tensor.raw_.storage->foreign = managed;
  return tensor;
}

DLManagedTensor* export_dlpack(const Tensor& x, const Allocator& allocator) {
  void* memory = checked_allocate(allocator, sizeof(Exported));
  auto* exported = new (memory) Exported{{}, x, allocator};
  exported->managed = {
      .dl_tensor = exported->tensor.dl(), .manager_ctx = exported, .deleter = release_exported};
  return &exported->managed;
}

mote_image& as_image(Tensor& tensor) {
  return const_cast<mote_image&>(as_image(static_cast<const Tensor&>(tensor)));
}

const mote_image& as_image(const Tensor& tensor) {
  check_image(tensor.rank() == 3, true, describe(tensor));
  return reinterpret_cast<const mote_image&>(tensor);
}

Tensor& as_tensor(mote_image& image) {
  return const_cast<Tensor&>(as_tensor(static_cast<const mote_image&>(image)));
}

const Tensor& as_tensor(const mote_image& image) {
  check_image(image.axes == 3, image.extents == &image.rows && image.strides == &image.step,
              std::to_string(image.axes));
  const auto& tensor = reinterpret_cast<const Tensor&>(image);
  checked_span(tensor.dtype(), tensor.shape(), tensor.strides());
  return tensor;
}

void set_image(mote_image& image, void* data, DType dtype, std::int64_t rows, std::int64_t cols,
               std::int64_t channels, std::int64_t step) {
  const Tensor view = Tensor::over(data, dtype, {rows, cols, channels}, {step, channels, 1});
  image = as_image(view);
  image.extents = &image.rows;
  image.strides = &image.step;
}

}  // namespace mote
