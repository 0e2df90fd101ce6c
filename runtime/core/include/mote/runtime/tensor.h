// SPDX-License-Identifier: Apache-2.0
// Tensors: reference-counted memory, or the caller's memory, seen through extents and strides. A
// copy of a Tensor is another view of the same elements; only copy() and clone() copy elements.
// Every size is checked on the metadata alone, before memory is requested or read; invalid metadata
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
#include "mote/runtime/tensor_form.h"
#include "mote/runtime/tensor_struct.h"

namespace MOTE_API mote {

/// The order in memory of the logical axes N, C, H, W.
enum class Layout : std::uint8_t { nchw, nhwc, chwn };

/// The largest valid device id.
inline constexpr int kMaxDeviceId = 4095;

class Tensor {
 public:
  /// Creates a tensor without elements or memory: f32[0].
  Tensor();
  /// Creates a row-major, uninitialised tensor at a multiple of kAlignment. Throws StatusError for
  /// negative extents, for sizes beyond PTRDIFF_MAX bytes, and MOTE_OUT_OF_MEMORY if the allocator
  /// has none.
  Tensor(DType dtype, const AxisList& shape, const Allocator& allocator = default_allocator());
  /// Takes the logical extents N, C, H, W; the memory is in the order of the layout.
  Tensor(DType dtype, const AxisList& nchw, Layout layout,
         const Allocator& allocator = default_allocator());
  /// Creates a row-major, uninitialised tensor in the device's memory; the allocator provides only
  /// the header. copy() moves elements to and from it. Throws StatusError as above, and if the
  /// device fails.
  Tensor(DType dtype, const AxisList& shape, const Device& device,
         const Allocator& allocator = default_allocator());
  /// Returns a view of memory that the caller keeps alive. The data may be null if only the
  /// metadata is used.
  static Tensor over(void* data, DType dtype, const AxisList& shape, const AxisList& strides,
                     DLDevice device = {kDLCPU, 0});
  /// Returns a row-major view.
  static Tensor over(void* data, DType dtype, const AxisList& shape);
  /// Returns a view of part of the arena's memory, which it keeps alive: the lowest element begins
  /// at byte_offset, counted from the arena's own lowest. Throws StatusError MOTE_INVALID if the
  /// form needs bytes that the arena does not have, if an element would not be aligned to its dtype,
  /// and for another device than the arena's.
  static Tensor within(const Tensor& arena, std::int64_t byte_offset, const TensorForm& form);

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
  TensorForm form() const;
  /// Returns the first element's address; null if there is no memory.
  void* data() const;
  bool owns_memory() const { return raw_.storage != nullptr; }
  /// Returns how many tensors share the memory; 0 if the tensor does not own it.
  std::int64_t owners() const;
  bool is_contiguous() const;  ///< row-major without gaps
  /// True if no two elements share memory. The test uses strides only: it may return false for an
  /// interleaved view whose elements are distinct.
  bool is_distinct() const;

  // These functions return views of the same memory.
  /// Takes `count` indices of the axis: begin, begin + step, … ; step may be negative, not 0.
  Tensor slice(int axis, std::int64_t begin, std::int64_t count, std::int64_t step = 1) const;
  Tensor select(int axis, std::int64_t index) const;  ///< drops that axis
  /// Axis k of the result is axis order[k].
  Tensor permute(const AxisList& order) const;
  /// Follows NumPy's rule: missing leading axes are added, axes of extent 1 repeat with stride 0.
  Tensor broadcast_to(const AxisList& shape) const;
  /// Returns the same elements in row-major order. Throws StatusError if that needs a copy.
  Tensor reshape(const AxisList& shape) const;

  // Elements are converted as casts do. An index out of range or memory on a device throws
  // StatusError.
  double real_at(const AxisList& index) const;
  std::int64_t integer_at(const AxisList& index) const;
  void set(const AxisList& index, double value) const;
  void set(const AxisList& index, std::int64_t value) const;
  /// Sets a value of any other arithmetic type, as the one of the two that holds it.
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

std::string describe(const Tensor& tensor);  ///< "f32[2,3]", "f32[2,3]@2:0" on a device

/// Returns the number of bytes from the start of the lowest element to the end of the highest; 0 if
/// there is none. Throws StatusError for a negative extent and if anything overflows 64-bit signed
/// arithmetic.
std::int64_t checked_span(DType dtype, const AxisList& shape, const AxisList& strides);
/// Returns row-major strides; an extent of 0 counts as 1. Throws StatusError if a product
/// overflows.
AxisList checked_strides(DType dtype, const AxisList& shape);

/// Computes y[i] = value for each element, cast to y's dtype.
void fill(const Tensor& y, double value);
void fill(const Tensor& y, std::int64_t value);
/// Fills with a value of any other arithmetic type, as the one of the two that holds it.
template <Arithmetic T>
void fill(const Tensor& y, T value) {
  to_real_or_integer(value, [&](auto converted) { fill(y, converted); });
}
/// Computes y[i] = x[i], with x broadcast to y's shape and cast to y's dtype. Memory may overlap:
/// the result is as if x had been read first. Throws StatusError if elements of y share memory.
/// Either may be on a device that a plug-in offers (device.h): tensors of one dtype with the same
/// layout and no gaps are moved at once; else the host converts, and gaps cost a transfer for each
/// run of elements.
void copy(const Tensor& x, const Tensor& y);
/// Returns a row-major copy in the memory that x is in: the host's or the device's.
Tensor clone(const Tensor& x, const Allocator& allocator = default_allocator());

/// Returns the tensor of a DLPack and takes ownership of it: the deleter runs with the last view.
/// On an error (rank, dtype, sizes, no memory) the caller still owns `managed`.
Tensor import_dlpack(DLManagedTensor* managed, const Allocator& allocator = default_allocator());
/// Returns a DLPack that shares x's memory until its deleter is called.
DLManagedTensor* export_dlpack(const Tensor& x, const Allocator& allocator = default_allocator());

/// Returns the same object under the other name; no byte is touched. Throws StatusError unless it
/// has three axes (rows, columns, channels).
mote_image& as_image(Tensor& tensor);
const mote_image& as_image(const Tensor& tensor);
Tensor& as_tensor(mote_image& image);
const Tensor& as_tensor(const mote_image& image);
/// Overwrites `image` with the description of pixels that the caller keeps alive: channels
/// adjacent, pixels adjacent, rows `step` elements apart.
void set_image(mote_image& image, void* data, DType dtype, std::int64_t rows, std::int64_t cols,
               std::int64_t channels, std::int64_t step);

}  // namespace mote
