// SPDX-License-Identifier: Apache-2.0
// An array for a call's operands: on the stack up to N of them, else on the heap. Elements are
// default-initialised.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace mote {

/// Room for 64 inputs and 64 outputs.
inline constexpr std::size_t kFewOperands = 128;

template <typename T, std::size_t N>
class SmallArray {
 public:
  explicit SmallArray(std::size_t size)
      : size_(size), many_(size > N ? std::make_unique_for_overwrite<T[]>(size) : nullptr) {}
  SmallArray(const SmallArray&) = delete;
  SmallArray& operator=(const SmallArray&) = delete;

  std::span<T> get() { return {many_ ? many_.get() : few_.data(), size_}; }

 private:
  std::size_t size_;
  std::array<T, N> few_;
  std::unique_ptr<T[]> many_;
};

}  // namespace mote
