// SPDX-License-Identifier: Apache-2.0
// A value, or a vector, that several owners read, until one of them changes it and so gets one of
// its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "mote/graph/large_pages.h"

namespace mote::detail {

/// read() gives what is shared; own() first makes it its owner's own.
template <typename T>
class Shared {
 public:
  const T& read() const {
    static const T none;
    return value_ == nullptr ? none : *value_;
  }
  T& own() {
    if (value_ == nullptr || value_.use_count() > 1) value_ = std::make_shared<T>(copy_of(read()));
    return *value_;
  }

 protected:
  template <typename V>
  static const V& copy_of(const V& value) {
    return value;
  }
  template <typename V>
  static std::vector<V> copy_of(const std::vector<V>& values) {
    std::vector<V> copy;
    reserve_in_large_pages(copy, values.size());
    copy.insert(copy.end(), values.begin(), values.end());
    return copy;
  }

  std::shared_ptr<T> value_;  ///< null: an empty one
};

/// Const access reads what is shared. All other access first makes the vector its owner's own.
template <typename T>
class SharedVector : public Shared<std::vector<T>> {
 public:
  using Shared<std::vector<T>>::own;
  using Shared<std::vector<T>>::read;

  std::size_t size() const { return read().size(); }
  auto begin() const { return read().begin(); }
  auto end() const { return read().end(); }
  const T& operator[](std::size_t k) const { return (*this->value_)[k]; }
  T& operator[](std::size_t k) { return own()[k]; }
  T& back() { return own().back(); }
  /// The value is no element of this vector, whose array may move first.
  void push_back(T&& value) {
    std::vector<T>& values = own();
    if (values.size() == values.capacity())
      reserve_in_large_pages(values, std::max<std::size_t>(1, 2 * values.size()));
    values.push_back(std::move(value));
  }
  void pop_back() { own().pop_back(); }
  void resize(std::size_t size) { own().resize(size); }
  void reserve(std::size_t size) { reserve_in_large_pages(own(), size); }
};

}  // namespace mote::detail
