// SPDX-License-Identifier: Apache-2.0
// A value, or a vector, that several owners read, until one of them changes it and so gets one of
// its own.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

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
    if (value_ == nullptr || value_.use_count() > 1) value_ = std::make_shared<T>(read());
    return *value_;
  }

 protected:
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
  void push_back(T&& value) { own().push_back(std::move(value)); }
  void pop_back() { own().pop_back(); }
  void resize(std::size_t size) { own().resize(size); }
  void reserve(std::size_t size) { own().reserve(size); }
};

}  // namespace mote::detail
