// SPDX-License-Identifier: Apache-2.0
// A list that mostly has one element, which takes no memory from the heap.
#pragma once

#include <span>
#include <utility>
#include <vector>

namespace mote {

template <typename T>
class MostlyOne {
 public:
  std::span<const T> all() const {
    return more_.empty() ? std::span(&one_, has_one_ ? 1 : 0) : std::span(more_);
  }
  bool empty() const { return !has_one_; }
  void push_back(const T& value) {
    if (!std::exchange(has_one_, true)) {
      one_ = value;
      return;
    }
    if (more_.empty()) more_.push_back(one_);
    more_.push_back(value);
  }
  void clear() {
    has_one_ = false;
    more_ = {};
  }

 private:
  bool has_one_ = false;
  T one_ = {};
  std::vector<T> more_ = {};  ///< all of them, if there are several
};

}  // namespace mote
