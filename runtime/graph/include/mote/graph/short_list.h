// SPDX-License-Identifier: Apache-2.0
// A list of indices of tensors, symbols or nodes. It holds up to four in itself: most nodes have no
// more inputs or outputs, so that a graph is read without a jump to other memory for each node.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

class ShortList {
 public:
  using value_type = std::uint32_t;
  using iterator = std::uint32_t*;
  using const_iterator = const std::uint32_t*;

  ShortList() = default;
  ShortList(std::span<const std::uint32_t> values) { assign(values); }
  ShortList(std::initializer_list<std::uint32_t> values)
      : ShortList(std::span(values.begin(), values.size())) {}
  ShortList(const std::vector<std::uint32_t>& values) : ShortList(std::span(values)) {}
  ShortList(const ShortList& other) : ShortList(std::span(other.data(), other.size())) {}
  ShortList(ShortList&& other) noexcept { take(other); }
  ShortList& operator=(const ShortList& other) {
    if (this != &other) assign({other.data(), other.size()});
    return *this;
  }
  ShortList& operator=(ShortList&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~ShortList() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::uint32_t* data() const { return room_ == kOwn ? own_.data() : more_; }
  std::uint32_t* data() { return room_ == kOwn ? own_.data() : more_; }
  const std::uint32_t* begin() const { return data(); }
  const std::uint32_t* end() const { return data() + size_; }
  std::uint32_t* begin() { return data(); }
  std::uint32_t* end() { return data() + size_; }
  std::uint32_t operator[](std::size_t k) const { return data()[k]; }
  std::uint32_t& operator[](std::size_t k) { return data()[k]; }
  std::uint32_t front() const { return data()[0]; }
  std::uint32_t back() const { return data()[size_ - 1]; }

  void reserve(std::size_t room);
  void push_back(std::uint32_t value) {
    if (size_ == room_) reserve(std::size_t{2} * room_);
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void resize(std::size_t size, std::uint32_t value = 0);
  void assign(std::span<const std::uint32_t> values);
  void erase(const std::uint32_t* first, const std::uint32_t* last);

  friend bool operator==(const ShortList& a, const ShortList& b) {
    return std::ranges::equal(a, b);
  }
  friend bool operator==(const ShortList& a, const std::vector<std::uint32_t>& b) {
    return std::ranges::equal(a, b);
  }

 private:
  static constexpr std::uint32_t kOwn = 4;

  void take(ShortList& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, kOwn);
    if (room_ == kOwn)
      own_ = other.own_;
    else
      more_ = other.more_;
  }
  void release() noexcept {
    if (room_ != kOwn) delete[] more_;
    room_ = kOwn;
  }

  union {
    std::array<std::uint32_t, kOwn> own_ = {};
    std::uint32_t* more_;  ///< the entries, where there is room for more than kOwn
  };
  std::uint32_t size_ = 0;
  std::uint32_t room_ = kOwn;
};

}  // namespace mote
