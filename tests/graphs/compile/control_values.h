// SPDX-License-Identifier: Apache-2.0
// Small tensors, and a loop that computes powers.
#pragma once

#include <cstdint>

#include "mote/runtime/tensor.h"

namespace mote::test {

inline Tensor scalar(double value) {
  Tensor x(DType::f32, AxisList{});
  x.set({}, value);
  return x;
}

inline Tensor scalar_of_f64(double value) {
  Tensor x(DType::f64, AxisList{});
  x.set({}, value);
  return x;
}

inline Tensor integer(std::int64_t value) {
  Tensor x(DType::i64, AxisList{});
  x.set({}, value);
  return x;
}

inline Tensor vector(double from, std::int64_t count) {
  Tensor x(DType::f32, {count});
  for (std::int64_t k = 0; k < count; ++k) x.set({k}, from + static_cast<double>(k));
  return x;
}

inline constexpr const char* kPower = R"(graph power(x f32[2], y f32[2], n i64[]) -> (z)
  z, left, _x = while (y, n, x) {
    graph step(a f32[2], k i64[], b f32[2]) -> (c, rest, b, k)
      c = mul(a, b)
      one = constant i64[] [1]
      rest = sub(k, one)
  }
)";

}  // namespace mote::test
