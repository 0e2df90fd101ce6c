// SPDX-License-Identifier: Apache-2.0
// Operands as Eigen's arrays: in place if they are row-major without gaps, else copies.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "support/subject.h"

namespace mote::subject::eigen {

template <typename T>
using Line = Eigen::Array<T, Eigen::Dynamic, 1>;

/// Holds all elements of an operand, in row-major order.
template <typename T>
class Source {
 public:
  explicit Source(const Operand& x) : size_(count(x)), data_(at<const T>(x)) {
    if (is_row_major(x)) return;
    copy_.resize(size_);
    Eigen::Index k = 0;
    for_each_offset(x.shape, x.strides,
                    [&](std::int64_t offset) { copy_[k++] = *at<const T>(x, offset); });
    data_ = copy_.data();
  }
  const T* data() const { return data_; }
  Eigen::Map<const Line<T>> line() const { return {data_, size_}; }

 private:
  Eigen::Index size_;
  Line<T> copy_;
  const T* data_;
};

template <typename T>
class Target {
 public:
  explicit Target(const Operand& y) : y_(y), own_(!is_row_major(y)) {
    if (own_) copy_.resize(count(y));
  }
  T* data() { return own_ ? copy_.data() : at<T>(y_); }
  Eigen::Map<Line<T>> line() { return {data(), count(y_)}; }
  void store() const {
    if (own_) unpack(copy_.data(), y_);
  }

 private:
  Operand y_;
  bool own_;
  Line<T> copy_;
};

/// Returns the work body(T{}) for the operand's dtype, one of the four reals.
template <typename Body>
Work of_real(const Operand& x, const Body& body) {
  switch (x.dtype) {
    case DType::f32:
      return [body] { body(float{}); };
    case DType::f64:
      return [body] { body(double{}); };
    case DType::f16:
      return [body] { body(Eigen::half{}); };
    case DType::bf16:
      return [body] { body(Eigen::bfloat16{}); };
    default:
      decline(x.text() + " is not real");
  }
}

inline constexpr auto kReals = {DType::f32, DType::f64, DType::f16, DType::bf16};
inline constexpr auto kFloats = {DType::f32, DType::f64};

}  // namespace mote::subject::eigen
