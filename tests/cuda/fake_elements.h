// SPDX-License-Identifier: Apache-2.0
// Elements of the fake GPU's memory as doubles, for the fake libraries; every address is checked.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "fake_device.h"
#include "mote/base/float16.h"

namespace fake {

/// The fake's own names for the types of elements.
enum class Element : std::uint8_t { f16, bf16, f32, f64, i8, i32 };

/// An element outside of the fake GPU's memory was touched.
struct IllegalAddress : std::runtime_error {
  IllegalAddress() : std::runtime_error("an address that is not the GPU's") {}
};

inline std::size_t bytes_of(Element type) {
  switch (type) {
    case Element::f64:
      return 8;
    case Element::f32:
    case Element::i32:
      return 4;
    case Element::i8:
      return 1;
    default:
      return 2;
  }
}

class Elements {
 public:
  Elements(const void* data, Element type)
      : data_(reinterpret_cast<std::uint64_t>(data)), type_(type) {}

  double get(std::int64_t index) const {
    const void* from = at(index);
    if (type_ == Element::f64) return load<double>(from);
    if (type_ == Element::f32) return static_cast<double>(load<float>(from));
    if (type_ == Element::i32) return load<std::int32_t>(from);
    if (type_ == Element::i8) return load<std::int8_t>(from);
    const auto bits = load<std::uint16_t>(from);
    return type_ == Element::f16 ? mote::from_f16(bits) : mote::from_bf16(bits);
  }
  void set(std::int64_t index, double value) const {
    void* to = at(index);
    if (type_ == Element::f64) return store(to, value);
    if (type_ == Element::f32) return store(to, static_cast<float>(value));
    if (type_ == Element::i32) return store(to, static_cast<std::int32_t>(value));
    if (type_ == Element::i8) return store(to, static_cast<std::int8_t>(value));
    store(to, type_ == Element::f16 ? mote::to_f16(value) : mote::to_bf16(value));
  }

 private:
  void* at(std::int64_t index) const {
    const std::uint64_t address = data_ + static_cast<std::uint64_t>(index) * bytes_of(type_);
    if (!is_allocated(address, bytes_of(type_))) throw IllegalAddress();
    return reinterpret_cast<void*>(address);
  }
  template <typename T>
  static T load(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  }
  template <typename T>
  static void store(void* to, T value) {
    std::memcpy(to, &value, sizeof(T));
  }

  std::uint64_t data_;
  Element type_;
};

/// To 11 significant bits, as tf32 has; to nearest, ties away from 0.
inline double to_tf32(double value) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::round(std::ldexp(fraction, 11)), exponent - 11);
}

/// A sum that is kept in doubles for doubles and integers, else in floats.
class Sum {
 public:
  explicit Sum(bool wide) : wide_(wide) {}
  void add(double value) {
    sum_ = wide_ ? sum_ + value : static_cast<double>(static_cast<float>(sum_ + value));
  }
  double get() const { return sum_; }

 private:
  bool wide_;
  double sum_ = 0;
};

/// A factor in the host's memory: a double for tensors of doubles, an integer for those of
/// integers, else a float.
inline double factor(const void* at, Element type) {
  if (type == Element::i32) return *static_cast<const std::int32_t*>(at);
  return type == Element::f64 ? *static_cast<const double*>(at)
                              : static_cast<double>(*static_cast<const float*>(at));
}

}  // namespace fake
