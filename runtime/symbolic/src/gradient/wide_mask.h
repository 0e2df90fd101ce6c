// SPDX-License-Identifier: Apache-2.0
// A mask of a node's inputs, or of its outputs, of which a loop or a case..of may have any number.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

#include "mote/base/tensor_mask.h"

namespace mote {

class WideMask {
 public:
  WideMask() = default;
  explicit WideMask(TensorMask first) : first_(first) {}

  void add(std::size_t k) {
    if (k < kWord) {
      first_ |= mask_bit(k);
      return;
    }
    const std::size_t word = k / kWord - 1;
    if (more_.size() <= word) more_.resize(word + 1);
    more_[word] |= mask_bit(k % kWord);
  }
  bool has(std::size_t k) const {
    if (k < kWord) return is_in(first_, k);
    const std::size_t word = k / kWord - 1;
    return word < more_.size() && is_in(more_[word], k % kWord);
  }
  bool is_empty() const { return first_ == 0 && more_.empty(); }
  /// The mask of the first kMaxMasked, which are all of a command or a function.
  TensorMask first() const { return first_; }
  /// Calls function(k) for each k of the mask, in rising order.
  template <typename Function>
  void each(const Function& function) const {
    for (std::size_t word = 0; word <= more_.size(); ++word)
      for (TensorMask left = word == 0 ? first_ : more_[word - 1]; left != 0; left &= left - 1)
        function(word * kWord + static_cast<std::size_t>(std::countr_zero(left)));
  }

 private:
  static constexpr std::size_t kWord = kMaxMasked;

  TensorMask first_ = 0;
  std::vector<TensorMask> more_;  ///< of the following ones; the last is not 0
};

inline bool is_in(const WideMask& mask, std::size_t k) { return mask.has(k); }

}  // namespace mote
