// SPDX-License-Identifier: Apache-2.0
// A vector that several owners read, until one of them changes it and so gets a vector of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace mote::detail {

/// Const access reads what is shared. All other access first makes the vector its owner's own.
template <typename T>
class SharedVector {
 public:
  SharedVector() = default;
  explicit SharedVector(std::vector<T> values)
      : values_(std::make_shared<std::vector<T>>(std::move(values))) {}

  const std::vector<T>& read() const {
    static const std::vector<T> none;
    return values_ == nullptr ? none : *values_;
  }
  std::vector<T>& own() {
    if (values_ == nullptr || values_.use_count() > 1)
      values_ = std::make_shared<std::vector<T>>(read());
    return *values_;
  }

  std::size_t size() const { return read().size(); }
  auto begin() const { return read().begin(); }
  auto end() const { return read().end(); }
  const T& operator[](std::size_t k) const { return (*values_)[k]; }
  T& operator[](std::size_t k) { return own()[k]; }
  T& back() { return own().back(); }
  void push_back(T value) { own().push_back(std::move(value)); }
  void pop_back() { own().pop_back(); }
  void resize(std::size_t size) { own().resize(size); }
  void reserve(std::size_t size) { own().reserve(size); }

 private:
  std::shared_ptr<std::vector<T>> values_;  ///< null: none
};

}  // namespace mote::detail
