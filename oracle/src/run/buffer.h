// SPDX-License-Identifier: Apache-2.0
// Memory of one tensor of a case: its elements where the layout puts them, what is near them (gaps,
// the space before and after; near.h) poisoned, so that a write outside is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mote/base/kernel.h"
#include "mote/oracle/case.h"
#include "run/near.h"

namespace mote {

/// Poisoned elements before and after each tensor.
constexpr std::int64_t kGuardElements = 64;

/// Two different patterns; an element of an output that holds the one after the first run and the
/// other after the second was never written.
enum class Poison : std::uint8_t { first, second };
/// Inputs have other patterns than outputs, so that what is copied from a gap of an input is not
/// taken for an element that was never written.
enum class Role : std::uint8_t { input, output };

/// Row-major elements without gaps, of size_of(dtype) bytes each.
class Dense {
 public:
  Dense(DType dtype, std::int64_t count);
  DType dtype() const { return dtype_; }
  std::int64_t count() const { return count_; }
  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }
  Number at(std::int64_t linear) const;
  void set(std::int64_t linear, const Number& n);  ///< rounded or wrapped to the dtype
  bool is_zero(std::int64_t linear) const;         ///< +0, -0, 0, false
  /// Same value: NaNs alike, -0 equal to +0.
  bool same(std::int64_t linear, const Dense& other) const;
  /// Two elements of this one are the same value in that sense.
  bool same_elements(std::int64_t a, std::int64_t b) const;
  /// The element holds the poison of outputs.
  bool is_poison(std::int64_t linear, Poison poison) const;

 private:
  bool same_at(std::int64_t a, const Dense& other, std::int64_t b) const;
  struct Free {
    void operator()(void* p) const;
  };
  DType dtype_;
  std::int64_t count_;
  std::unique_ptr<void, Free> data_;
};

/// Memory for one tensor: `count` elements, of which the tensor's base is the one numbered `lead`.
struct Region {
  void* memory = nullptr;
  std::int64_t count = 0;
  std::int64_t lead = 0;
};

class Buffer {
 public:
  /// Over memory of its own.
  Buffer(const CaseTensor& tensor, Role role);
  /// Over memory that is someone else's, down to its last element; the tensor reaches no further
  /// than its last element.
  Buffer(const CaseTensor& tensor, Role role, const Region& region);
  Buffer(Buffer&&) = default;

  void poison(Poison pattern);
  void write(const Dense& values);        ///< puts the elements in their places
  void read(Dense& values) const;         ///< gets them
  bool holds(const Dense& values) const;  ///< bit for bit
  /// Poisons the elements too, then says where memory near them is not poison: the distance in
  /// elements from the tensor's first element; nullopt when all is.
  std::optional<std::int64_t> damage(Poison pattern);
  /// The distance from the first element to the last; -1 where there is none.
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
  std::optional<Dense> own_;
  std::unique_ptr<void, Unmap> own_pages_{nullptr, Unmap{0}};
  Region region_;
  std::vector<ElementRange> near_;  ///< in the region: what is poisoned and compared
  DLTensor tensor_{};
};

/// The same view of dense elements.
DLTensor dense_tensor(Dense& values, std::vector<std::int64_t>& shape);

}  // namespace mote
