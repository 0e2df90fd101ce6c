// SPDX-License-Identifier: Apache-2.0
// Helpers of tests: the text of the mote::Error that a call throws, and short ways to write arrays.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "mote/base/error.h"
#include "mote/uops/evaluate.h"

namespace mote::test {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline const double kNan = std::numeric_limits<double>::quiet_NaN();

/// Returns the text of the Error, or "nothing was thrown".
template <typename F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

inline Array array(DType dtype, std::vector<std::int64_t> shape, const std::vector<double>& reals) {
  Array a{dtype, std::move(shape), {}};
  for (const double x : reals)
    a.values.push_back(is_real(dtype) ? Number(x) : Number(static_cast<std::int64_t>(x)));
  return a;
}
inline Array f64(std::vector<std::int64_t> shape, const std::vector<double>& reals) {
  return array(DType::f64, std::move(shape), reals);
}
inline Array f32(std::vector<std::int64_t> shape, const std::vector<double>& reals) {
  return array(DType::f32, std::move(shape), reals);
}
inline Array i64(std::vector<std::int64_t> shape, const std::vector<double>& integers) {
  return array(DType::i64, std::move(shape), integers);
}
inline Array boolean(std::vector<std::int64_t> shape, const std::vector<double>& integers) {
  return array(DType::boolean, std::move(shape), integers);
}

inline std::vector<double> values_of(const Array& a) {
  std::vector<double> result;
  for (const Number& n : a.values)
    result.push_back(n.is_real() ? n.real() : static_cast<double>(n.integer()));
  return result;
}

/// Returns the only output of the program text.
inline Array run(const std::string& text, const std::vector<Array>& inputs,
                 const std::map<std::string, Number>& params = {}) {
  return evaluate(parse_program(text), inputs, params).at(0);
}

}  // namespace mote::test
