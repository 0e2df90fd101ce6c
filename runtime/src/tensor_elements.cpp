// Reading, writing, filling and copying of elements, for any strides and dtypes.
#include <cstddef>
#include <cstring>
#include <string>

#include "element_types.h"
#include "mote/runtime/joint_axes.h"
#include "mote/runtime/status.h"
#include "mote/runtime/tensor.h"
#include "view.h"

namespace mote {
namespace {

void check_host(const Tensor& x, const char* op) {
  const std::string what = std::string("tensor: ") + op + " of " + describe(x);
  if (x.device().device_type != kDLCPU)
    throw StatusError(MOTE_UNSUPPORTED, what + ": it is not in the host's memory");
  if (x.data() == nullptr && x.element_count() > 0)
    throw StatusError(MOTE_INVALID, what + ": it has no data");
}

void check_target(const Tensor& y, const char* op) {
  check_host(y, op);
  if (!y.is_distinct())
    throw StatusError(MOTE_INVALID, std::string("tensor: ") + op + " to " + describe(y) +
                                        " with strides " + to_string(y.strides()) +
                                        ": elements share memory");
}

/// One line of elements, with byte strides; `x` may be a single value with stride 0.
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
  for (std::int64_t k = 0; k < count; ++k) std::memcpy(y + k * y_step, x + k * x_step, Size);
}

/// Elements of one dtype keep their bits: NaN payloads too.
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

AxisStrides strides_in(const Tensor& x) {
  AxisStrides strides{};
  std::ranges::copy(x.strides(), strides.begin());
  return strides;
}

/// Runs the line over the innermost axis, for every index of the others.
void each_line(const JointAxes& axes, const std::array<AxisStrides, 2>& views, const Tensor& x,
               const Tensor& y, Line line) {
  const auto x_size = static_cast<std::int64_t>(size_of(x.dtype()));
  const auto y_size = static_cast<std::int64_t>(size_of(y.dtype()));
  const auto* from = static_cast<const std::byte*>(x.data());
  auto* to = static_cast<std::byte*>(y.data());
  const int inner = axes.rank - 1;
  const auto last = static_cast<std::size_t>(inner);
  std::array<std::int64_t, kMaxAxes> index{};
  while (true) {
    std::int64_t x_offset = 0;
    std::int64_t y_offset = 0;
    for (std::size_t axis = 0; axis < last; ++axis) {
      y_offset += index[axis] * views[0][axis];
      x_offset += index[axis] * views[1][axis];
    }
    line(from + x_offset * x_size, views[1][last] * x_size, to + y_offset * y_size,
         views[0][last] * y_size, axes.extents[last]);
    int axis = inner - 1;
    for (; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (++index[a] < axes.extents[a]) break;
      index[a] = 0;
    }
    if (axis < 0) return;
  }
}

/// x has y's shape; memory does not overlap, or element by element.
void copy_lines(const Tensor& x, const Tensor& y) {
  if (y.element_count() == 0) return;
  JointAxes axes{.rank = y.rank(), .extents = {}};
  std::ranges::copy(y.shape(), axes.extents.begin());
  std::array<AxisStrides, 2> views = {strides_in(y), strides_in(x)};
  order_axes(axes, views);
  if (merge_axes(axes, views, 0, axes.rank) == 0) axes = {.rank = 1, .extents = {1}};
  each_line(axes, views, x, y, line_of(x.dtype(), y.dtype()));
}

template <DType D, typename Value>
void fill_as(const Tensor& y, Value value) {
  typename Element<D>::Stored stored;
  store_to<D>(&stored, value);
  copy_lines(Tensor::over(&stored, D, {}).broadcast_to(y.shape()), y);
}

template <typename Value>
void fill_with(const Tensor& y, Value value) {
  check_target(y, "fill");
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

void fill(const Tensor& y, double value) { fill_with(y, value); }
void fill(const Tensor& y, std::int64_t value) { fill_with(y, value); }

void copy(const Tensor& x, const Tensor& y) {
  check_host(x, "copy");
  check_target(y, "copy");
  const Tensor source = x.broadcast_to(y.shape());
  const bool same_elements =
      source.data() == y.data() && source.strides() == y.strides() && x.dtype() == y.dtype();
  if (same_elements) return;
  copy_lines(overlap(source, y) ? clone(source) : source, y);
}

Tensor clone(const Tensor& x, const Allocator& allocator) {
  check_host(x, "clone");
  Tensor y(x.dtype(), x.shape(), allocator);
  copy_lines(x, y);
  return y;
}

}  // namespace mote
