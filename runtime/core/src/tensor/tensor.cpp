// SPDX-License-Identifier: Apache-2.0
// Tensors: construction, sharing, and queries.
#include "mote/runtime/tensor.h"

#include <algorithm>
#include <numeric>

#include "mote/base/dlpack.h"
#include "mote/runtime/status.h"
#include "tensor/storage.h"
#include "tensor/view.h"

namespace mote {
namespace {

void check_device(DLDevice device) {
  if (device.device_id < 0 || device.device_id > kMaxDeviceId)
    throw StatusError(MOTE_INVALID, "tensor: device ids are 0.." + std::to_string(kMaxDeviceId) +
                                        ", got " + std::to_string(device.device_id));
}

/// Returns the logical axes N, C, H, W in the order of memory, outermost first.
AxisList memory_order(Layout layout) {
  switch (layout) {
    case Layout::nchw:
      return {0, 1, 2, 3};
    case Layout::nhwc:
      return {0, 2, 3, 1};
    case Layout::chwn:
      return {1, 2, 3, 0};
  }
  throw StatusError(MOTE_INVALID, "tensor: unknown layout");
}

AxisList layout_strides(DType dtype, const AxisList& shape, Layout layout) {
  if (shape.size() != 4)
    throw StatusError(MOTE_INVALID, "tensor: a layout orders 4 axes (N, C, H, W), got " +
                                        std::string(name(dtype)) + to_string(shape));
  const AxisList order = memory_order(layout);
  AxisList ordered = shape;
  for (int k = 0; k < 4; ++k) ordered[k] = shape[static_cast<int>(order[k])];
  const AxisList inner = checked_strides(dtype, ordered);
  AxisList strides = shape;
  for (int k = 0; k < 4; ++k) strides[static_cast<int>(order[k])] = inner[k];
  return strides;
}

}  // namespace

Tensor::Tensor(DType dtype, const AxisList& shape, const AxisList& strides, void* data,
               DLDevice device)
    : raw_{} {
  checked_span(dtype, shape, strides);
  check_device(device);
  std::ranges::copy(shape, raw_.shape);
  std::ranges::copy(strides, raw_.strides);
  raw_.dl = {.data = data,
             .device = device,
             .ndim = shape.size(),
             .dtype = to_dlpack(dtype),
             .shape = raw_.shape,
             .strides = raw_.strides,
             .byte_offset = 0};
}

Tensor::Tensor() : Tensor(DType::f32, {0}, {1}, nullptr, {kDLCPU, 0}) {}

Tensor::Tensor(DType dtype, const AxisList& shape, const Allocator& allocator)
    : Tensor(dtype, shape, checked_strides(dtype, shape), nullptr, {kDLCPU, 0}) {
  allocate(allocator);
}

Tensor::Tensor(DType dtype, const AxisList& nchw, Layout layout, const Allocator& allocator)
    : Tensor(dtype, nchw, layout_strides(dtype, nchw, layout), nullptr, {kDLCPU, 0}) {
  allocate(allocator);
}

Tensor::Tensor(DType dtype, const AxisList& shape, const Device& device, const Allocator& allocator)
    : Tensor(dtype, shape, checked_strides(dtype, shape), nullptr, device.dl()) {
  const std::int64_t bytes = checked_span(dtype, this->shape(), strides());
  raw_.storage = make_storage_on(device.raw(), static_cast<std::size_t>(bytes), allocator);
  raw_.dl.data = elements_of(raw_.storage);
}

Tensor Tensor::over(void* data, DType dtype, const AxisList& shape, const AxisList& strides,
                    DLDevice device) {
  return {dtype, shape, strides, data, device};
}

Tensor Tensor::over(void* data, DType dtype, const AxisList& shape) {
  return {dtype, shape, checked_strides(dtype, shape), data, {kDLCPU, 0}};
}

void Tensor::allocate(const Allocator& allocator) {
  const std::int64_t bytes = checked_span(dtype(), shape(), strides());
  constexpr std::int64_t kRoom = 2 * static_cast<std::int64_t>(kAlignment);  // room for the header
  if (bytes > PTRDIFF_MAX - kRoom)
    throw StatusError(MOTE_OUT_OF_MEMORY, "tensor: " + describe(*this) + " does not fit in memory");
  raw_.storage = make_storage(static_cast<std::size_t>(bytes), allocator);
  raw_.dl.data = elements_of(raw_.storage);
}

Tensor::Tensor(const Tensor& other) noexcept : raw_(other.raw_) {
  raw_.dl.shape = raw_.shape;
  raw_.dl.strides = raw_.strides;
  retain(raw_.storage);
}

Tensor& Tensor::operator=(const Tensor& other) noexcept {
  if (this == &other) return *this;
  mote_storage* old = raw_.storage;
  retain(other.raw_.storage);
  raw_ = other.raw_;
  raw_.dl.shape = raw_.shape;
  raw_.dl.strides = raw_.strides;
  release(old);
  return *this;
}

Tensor::~Tensor() { release(raw_.storage); }

DType Tensor::dtype() const { return dtype_of(raw_.dl); }

TensorForm Tensor::form() const {
  TensorForm form;
  form.dtype = dtype();
  form.shape = shape();
  form.strides = strides();
  form.device = device();
  return form;
}

AxisList Tensor::shape() const {
  return std::span<const std::int64_t>(raw_.shape, static_cast<std::size_t>(rank()));
}

AxisList Tensor::strides() const {
  return std::span<const std::int64_t>(raw_.strides, static_cast<std::size_t>(rank()));
}

std::int64_t Tensor::element_count() const { return mote::element_count(raw_.dl); }

void* Tensor::data() const {
  if (raw_.dl.data == nullptr) return nullptr;
  return static_cast<std::byte*>(raw_.dl.data) + raw_.dl.byte_offset;
}

std::int64_t Tensor::owners() const {
  return raw_.storage == nullptr ? 0 : raw_.storage->owners.load(std::memory_order_acquire);
}

bool Tensor::is_contiguous() const {
  std::int64_t expected = 1;
  for (int axis = rank(); axis-- > 0;) {
    const std::int64_t extent = raw_.shape[axis];
    if (extent == 0) return true;
    if (extent != 1 && raw_.strides[axis] != expected) return false;
    expected *= extent;
  }
  return true;
}

bool Tensor::is_distinct() const { return mote::is_distinct(raw_.dl); }

DType dtype_of(const DLTensor& x) {
  const std::optional<DType> dtype = from_dlpack(x.dtype);
  if (!dtype) throw StatusError(MOTE_INVALID, "tensor: unknown element type " + describe(x));
  return *dtype;
}

bool is_distinct(const DLTensor& x) {
  // In the order of rising strides, each axis must step over the range of all earlier ones.
  std::array<int, kMaxAxes> order{};
  std::iota(order.begin(), order.end(), 0);
  const auto magnitude = [&](int axis) {
    const auto stride = static_cast<std::uint64_t>(x.strides[axis]);
    return x.strides[axis] < 0 ? 0 - stride : stride;
  };
  std::ranges::sort(order.begin(), order.begin() + x.ndim, {}, magnitude);
  std::uint64_t reach = 0;
  bool distinct = true;
  for (int k = 0; k < x.ndim; ++k) {
    const int axis = order[static_cast<std::size_t>(k)];
    if (x.shape[axis] == 0) return true;
    if (x.shape[axis] == 1) continue;
    distinct = distinct && magnitude(axis) > reach;
    reach += static_cast<std::uint64_t>(x.shape[axis] - 1) * magnitude(axis);
  }
  return distinct;
}

std::size_t Tensor::checked_axis(int axis) const {
  if (axis >= 0 && axis < rank()) return static_cast<std::size_t>(axis);
  throw StatusError(MOTE_INVALID, "tensor: axis " + std::to_string(axis) + " of " +
                                      describe(*this) + ", which has " + std::to_string(rank()) +
                                      " axes");
}

std::string describe(const Tensor& tensor) { return describe(tensor.dl()); }

}  // namespace mote
