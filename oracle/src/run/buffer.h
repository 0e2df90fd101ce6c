// SPDX-License-Identifier: Apache-2.0
// The memory of one tensor of a case: its elements at the locations of the layout, and poison near
// them (gaps, the memory before and after; near.h), so that a write outside is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mote/base/export.h"
#include "mote/base/kernel.h"
#include "mote/oracle/case.h"
#include "run/near.h"

namespace MOTE_API mote {

/// The number of poisoned elements before and after each tensor.
constexpr std::int64_t kGuardElements = 64;

/// Two different patterns: an element of an output that holds the first after the first run and the
/// second after the second run was never written.
enum class Poison : std::uint8_t { first, second };
/// Inputs have other patterns than outputs, so that an element copied from a gap of an input is not
/// mistaken for one that was never written.
enum class Role : std::uint8_t { input, output };

/// The pattern of poison. For outputs of real types, the first is a NaN and the second a large
/// number, and for inputs the reverse: a kernel that reads one gives different results.
std::uint64_t poison_bits(Poison poison, Role role, DType dtype);

/// Row-major elements without gaps, of size_of(dtype) bytes each.
class Dense {
 public:
  Dense(DType dtype, std::int64_t count);
  DType dtype() const { return dtype_; }
  std::int64_t count() const { return count_; }
  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }
  Number at(std::int64_t linear) const;
  void set(std::int64_t linear, const Number& n);  ///< rounds or wraps to the dtype
  bool is_zero(std::int64_t linear) const;         ///< true for +0, -0, 0, false
  /// True for the same value: all NaN are the same, and so are -0 and +0.
  bool same(std::int64_t linear, const Dense& other) const;
  /// True if two elements of this tensor are the same value in that sense.
  bool same_elements(std::int64_t a, std::int64_t b) const;

 private:
  bool same_at(std::int64_t a, const Dense& other, std::int64_t b) const;
  struct Free {
    void operator()(void* p) const;
  };
  DType dtype_;
  std::int64_t count_;
  std::unique_ptr<void, Free> data_;
};

/// Memory for one tensor: `count` elements; the tensor's base is element `lead`.
struct Region {
  void* memory = nullptr;
  std::int64_t count = 0;
  std::int64_t lead = 0;
};

class Buffer {
 public:
  /// A buffer with memory of its own.
  Buffer(const CaseTensor& tensor, Role role);
  /// A buffer over given memory, which reaches exactly to the tensor's last element.
  Buffer(const CaseTensor& tensor, Role role, const Region& region);
  Buffer(Buffer&&) = default;

  void poison(Poison pattern);
  void write(const Dense& values);        ///< writes the elements to their locations
  void read(Dense& values) const;         ///< reads them
  bool holds(const Dense& values) const;  ///< compares bit for bit
  /// Finds memory near the elements that is not poison: its distance in elements from the tensor's
  /// first element; nullopt if there is none. Elements may be poisoned in order to find it.
  std::optional<std::int64_t> damage(Poison pattern);
  /// The distance from the first element to the last; -1 without elements.
  std::int64_t reach() const;
  DLTensor* tensor() { return &tensor_; }
  const Region& region() const { return region_; }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(void* p) const;
  };

  std::int64_t first() const { return region_.lead + placed_.offset; }
  void set_region(const Region& region);
  void allocate();

  DType dtype_;
  std::vector<std::int64_t> shape_;
  Placement placed_;
  Role role_;
  bool is_dense_ = false;  ///< the elements fill the memory from the first to the last
  std::optional<Dense> own_;
  std::unique_ptr<void, Unmap> own_pages_{nullptr, Unmap{0}};
  Region region_;
  std::vector<ElementRange> near_;  ///< the ranges in the region that are poisoned and compared
  DLTensor tensor_{};
};

/// A DLTensor over dense elements.
DLTensor dense_tensor(Dense& values, std::vector<std::int64_t>& shape);

}  // namespace mote
