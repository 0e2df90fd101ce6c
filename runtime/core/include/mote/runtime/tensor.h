// SPDX-License-Identifier: Apache-2.0
// Tensors: counted memory, or memory of someone else's, seen through extents and strides. A copy of
// a Tensor is another view of the same elements; nothing here copies elements but copy(). Every
// size is checked on the metadata alone, before memory is asked for or looked at; what does not fit
// throws StatusError "tensor: what, got, expected".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "mote/base/arithmetic.h"
#include "mote/base/dtype.h"
#include "mote/base/export.h"
#include "mote/runtime/allocator.h"
#include "mote/runtime/axes.h"
#include "mote/runtime/device.h"
#include "mote/runtime/tensor_struct.h"

namespace MOTE_API mote {

/// The order in memory of the logical axes N, C, H, W.
enum class Layout : std::uint8_t { nchw, nhwc, chwn };

/// A device id beyond it is an error.
inline constexpr int kMaxDeviceId = 4095;

class Tensor {
 public:
  /// No elements and no memory: f32[0].
  Tensor();
  /// Row-major, uninitialised, at a multiple of kAlignment. StatusError for negative extents, sizes
  /// beyond PTRDIFF_MAX bytes, and MOTE_OUT_OF_MEMORY where the allocator has none.
  Tensor(DType dtype, const AxisList& shape, const Allocator& allocator = default_allocator());
  /// Logical extents N, C, H, W; memory in the order of the layout.
  Tensor(DType dtype, const AxisList& nchw, Layout layout,
         const Allocator& allocator = default_allocator());
  /// Row-major, uninitialised, in the device's memory; the allocator's is the header alone.
  /// Elements come and go by copy(). StatusError as above, and where the device fails.
  Tensor(DType dtype, const AxisList& shape, const Device& device,
         const Allocator& allocator = default_allocator());
  /// A view of memory that the caller keeps alive. The data may be null on metadata only.
  static Tensor over(void* data, DType dtype, const AxisList& shape, const AxisList& strides,
                     DLDevice device = {kDLCPU, 0});
  /// The same, row-major.
  static Tensor over(void* data, DType dtype, const AxisList& shape);

  Tensor(const Tensor& other) noexcept;
  Tensor& operator=(const Tensor& other) noexcept;
  ~Tensor();

  DType dtype() const;
  int rank() const { return raw_.dl.ndim; }
  AxisList shape() const;
  AxisList strides() const;
  std::int64_t extent(int axis) const { return raw_.shape[checked_axis(axis)]; }
  std::int64_t stride(int axis) const { return raw_.strides[checked_axis(axis)]; }
  std::int64_t element_count() const;
  DLDevice device() const { return raw_.dl.device; }
  /// The first element; null if there is no memory.
  void* data() const;
  bool owns_memory() const { return raw_.storage != nullptr; }
  /// How many tensors share the memory; 0 if it is someone else's.
  std::int64_t owners() const;
  bool is_contiguous() const;  ///< row-major without gaps
  /// No two elements share memory (found by strides: an interleaved view may be denied).
  bool is_distinct() const;

  // Views of the same memory.
  /// `count` indices of the axis: begin, begin + step, … ; step may be negative, not 0.
  Tensor slice(int axis, std::int64_t begin, std::int64_t count, std::int64_t step = 1) const;
  Tensor select(int axis, std::int64_t index) const;  ///< without that axis
  /// Axis k of the result is axis order[k].
  Tensor permute(const AxisList& order) const;
  /// NumPy's rule: missing leading axes are added, axes of extent 1 repeat with stride 0.
  Tensor broadcast_to(const AxisList& shape) const;
  /// The same elements in row-major order; StatusError where that needs a copy.
  Tensor reshape(const AxisList& shape) const;

  // Elements, converted as casts do. StatusError for an index out of range or memory elsewhere.
  double real_at(const AxisList& index) const;
  std::int64_t integer_at(const AxisList& index) const;
  void set(const AxisList& index, double value) const;
  void set(const AxisList& index, std::int64_t value) const;
  /// Any other arithmetic type, as the one of the two that holds it.
  template <Arithmetic T>
  void set(const AxisList& index, T value) const {
    to_real_or_integer(value, [&](auto converted) { set(index, converted); });
  }

  const DLTensor& dl() const { return raw_.dl; }
  DLTensor& dl() { return raw_.dl; }
  const mote_tensor& raw() const { return raw_; }

 private:
  friend Tensor import_dlpack(DLManagedTensor*, const Allocator&);
  Tensor(DType dtype, const AxisList& shape, const AxisList& strides, void* data, DLDevice device);
  std::size_t checked_axis(int axis) const;
  void allocate(const Allocator& allocator);
  void* element(const AxisList& index) const;

  mote_tensor raw_;
};

static_assert(std::is_standard_layout_v<Tensor> && sizeof(Tensor) == sizeof(mote_tensor));

std::string describe(const Tensor& tensor);  ///< "f32[2,3]"

/// Bytes from the first to past the last element that such a tensor spans; 0 if it has none.
/// StatusError for a negative extent and for anything that leaves 64-bit signed arithmetic.
std::int64_t checked_span(DType dtype, const AxisList& shape, const AxisList& strides);
/// Row-major strides; an extent of 0 counts as 1. StatusError when a product overflows.
AxisList checked_strides(DType dtype, const AxisList& shape);

/// y[i] = value for each element, cast to y's dtype.
void fill(const Tensor& y, double value);
void fill(const Tensor& y, std::int64_t value);
/// Any other arithmetic type, as the one of the two that holds it.
template <Arithmetic T>
void fill(const Tensor& y, T value) {
  to_real_or_integer(value, [&](auto converted) { fill(y, converted); });
}
/// y[i] = x[i], x broadcast to y's shape, cast to y's dtype. Memory may overlap: the result is as
/// if x had been read first. StatusError if elements of y share memory. Either may be on a device
/// that a plug-in offers (device.h): what is laid out alike, without gaps and in one dtype, is
/// moved at once; else the host converts, and gaps cost a transfer for each run of elements.
void copy(const Tensor& x, const Tensor& y);
/// A row-major copy, where x is.
Tensor clone(const Tensor& x, const Allocator& allocator = default_allocator());

/// The tensor of someone's DLPack, which it takes over: the deleter runs with the last view. On an
/// error (rank, dtype, sizes, no memory) the caller still owns `managed`.
Tensor import_dlpack(DLManagedTensor* managed, const Allocator& allocator = default_allocator());
/// A DLPack that shares x's memory until its deleter is called.
DLManagedTensor* export_dlpack(const Tensor& x, const Allocator& allocator = default_allocator());

/// Toll-free: the same object under the other name, no byte is touched. StatusError unless it has
/// three axes (rows, columns, channels).
mote_image& as_image(Tensor& tensor);
const mote_image& as_image(const Tensor& tensor);
Tensor& as_tensor(mote_image& image);
const Tensor& as_tensor(const mote_image& image);
/// Makes of `image`, whatever is in it, the description of pixels that the caller keeps alive:
/// channels adjacent, pixels adjacent, rows `step` elements apart.
void set_image(mote_image& image, void* data, DType dtype, std::int64_t rows, std::int64_t cols,
               std::int64_t channels, std::int64_t step);

}  // namespace mote
