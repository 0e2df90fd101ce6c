// SPDX-License-Identifier: Apache-2.0
// Reads, writes, fills and copies elements, for any strides and dtypes.
#include <cstddef>
#include <cstring>
#include <string>

#include "device/device_copy.h"
#include "mote/base/element_types.h"
#include "mote/runtime/status.h"
#include "mote/runtime/tensor.h"
#include "tensor/lines.h"
#include "tensor/transposed_copy.h"
#include "tensor/view.h"

namespace mote {
namespace {

/// The text of an error is made only where there is one: loops read elements in each iteration.
void check_host(const Tensor& x, const char* op) {
  const auto fail = [&](mote_status status, const char* why) {
    throw StatusError(status, std::string("tensor: ") + op + " of " + describe(x) + why);
  };
  if (x.device().device_type != kDLCPU) fail(MOTE_UNSUPPORTED, ": it is not in the host's memory");
  if (x.data() == nullptr && x.element_count() > 0) fail(MOTE_INVALID, ": it has no data");
}

/// Checks that x has data, and is the host's or on a device that a plug-in offers.
void check_location(const Tensor& x, const char* op) {
  if (is_on_host(x)) return check_host(x, op);
  device_of(x, op);
  if (x.data() == nullptr && x.element_count() > 0)
    throw StatusError(MOTE_INVALID,
                      std::string("tensor: ") + op + " of " + describe(x) + ": it has no data");
}

void check_distinct(const Tensor& y, const char* op) {
  if (!y.is_distinct())
    throw StatusError(MOTE_INVALID, std::string("tensor: ") + op + " to " + describe(y) +
                                        " with strides " + to_string(y.strides()) +
                                        ": elements share memory");
}

/// A function that copies one line of elements, with byte strides; `x` may be a single value with
/// stride 0.
using Line = void (*)(const std::byte* x, std::int64_t x_step, std::byte* y, std::int64_t y_step,
                      std::int64_t count);

template <DType From, DType To>
void convert_line(const std::byte* x, std::int64_t x_step, std::byte* y, std::int64_t y_step,
                  std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k)
    store_to<To>(y + k * y_step, load_from<From>(x + k * x_step));
}

template <std::size_t Size>
void move_line(const std::byte* x, std::int64_t x_step, std::byte* y, std::int64_t y_step,
               std::int64_t count) {
  constexpr auto kSize = static_cast<std::int64_t>(Size);
  if (x_step == kSize && y_step == kSize) {
    std::memcpy(y, x, static_cast<std::size_t>(count) * Size);
    return;
  }
#pragma GCC unroll 4
  for (std::int64_t k = 0; k < count; ++k) std::memcpy(y + k * y_step, x + k * x_step, Size);
}

/// Elements of one dtype keep their bits, including NaN payloads.
Line move_line_of(std::size_t size) {
  if (size == 1) return move_line<1>;
  if (size == 2) return move_line<2>;
  return size == 4 ? Line{move_line<4>} : move_line<8>;
}

Line line_of(DType from, DType to) {
  if (from == to) return move_line_of(size_of(from));
  return with_dtype(from, [&]<DType From>() {
    return with_dtype(to, []<DType To>() { return Line{convert_line<From, To>}; });
  });
}

/// Copies; x must have y's shape, and memory must not overlap, except element by element.
void copy_lines(const Tensor& x, const Tensor& y) {
  if (x.dtype() == y.dtype() && copy_transposed(x, y)) return;
  each_line(x, y, line_of(x.dtype(), y.dtype()));
}

template <DType D, typename Value>
void fill_as(const Tensor& y, Value value) {
  typename Element<D>::Stored stored;
  store_to<D>(&stored, value);
  copy_lines(Tensor::over(&stored, D, {}).broadcast_to(y.shape()), y);
}

template <typename Value>
void fill_with(const Tensor& y, Value value) {
  check_fill(y);
  if (!is_on_host(y)) {
    const Tensor one(y.dtype(), {});
    fill_with(one, value);
    return copy(one, y);
  }
  with_dtype(y.dtype(), [&]<DType D>() { fill_as<D>(y, value); });
}

}  // namespace

void* Tensor::element(const AxisList& index) const {
  check_host(*this, "element");
  if (index.size() != rank())
    throw StatusError(MOTE_INVALID, "tensor: element " + to_string(index) + " of " +
                                        describe(*this) + ": needs " + std::to_string(rank()) +
                                        " indices");
  std::int64_t offset = 0;
  for (int axis = 0; axis < rank(); ++axis) {
    if (index[axis] < 0 || index[axis] >= raw_.shape[axis])
      throw StatusError(MOTE_INVALID, "tensor: element " + to_string(index) + " of " +
                                          describe(*this) + " is out of range");
    offset += index[axis] * raw_.strides[axis];
  }
  return static_cast<std::byte*>(data()) + offset * static_cast<std::int64_t>(size_of(dtype()));
}

double Tensor::real_at(const AxisList& index) const {
  const void* at = element(index);
  return with_dtype(dtype(), [&]<DType D>() { return static_cast<double>(load_from<D>(at)); });
}

std::int64_t Tensor::integer_at(const AxisList& index) const {
  const void* at = element(index);
  return with_dtype(dtype(), [&]<DType D>() {
    std::int64_t value = 0;
    store_to<DType::i64>(&value, load_from<D>(at));
    return value;
  });
}

void Tensor::set(const AxisList& index, double value) const {
  void* at = element(index);
  with_dtype(dtype(), [&]<DType D>() { store_to<D>(at, value); });
}

void Tensor::set(const AxisList& index, std::int64_t value) const {
  void* at = element(index);
  with_dtype(dtype(), [&]<DType D>() { store_to<D>(at, value); });
}

void check_fill(const Tensor& y) {
  check_distinct(y, "fill");
  check_location(y, "fill");
}

void fill(const Tensor& y, double value) { fill_with(y, value); }
void fill(const Tensor& y, std::int64_t value) { fill_with(y, value); }

void check_copy(const Tensor& x, const Tensor& y) {
  check_distinct(y, "copy");
  check_location(x, "copy");
  check_location(y, "copy");
  [[maybe_unused]] const Tensor fits = x.broadcast_to(y.shape());
}

void copy(const Tensor& x, const Tensor& y) {
  check_copy(x, y);
  const Tensor source = x.broadcast_to(y.shape());
  const bool same_elements =
      source.data() == y.data() && source.strides() == y.strides() && x.dtype() == y.dtype();
  if (same_elements) return;
  if (!is_on_host(x) || !is_on_host(y)) return copy_by_device(source, y);
  copy_lines(overlap(source, y) ? clone(source) : source, y);
}

Tensor clone(const Tensor& x, const Allocator& allocator) {
  check_location(x, "clone");
  if (!is_on_host(x)) {
    Tensor y(x.dtype(), x.shape(), device_of(x, "clone"), allocator);
    copy(x, y);
    return y;
  }
  Tensor y(x.dtype(), x.shape(), allocator);
  copy_lines(x, y);
  return y;
}

}  // namespace mote
