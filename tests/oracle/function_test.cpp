// SPDX-License-Identifier: Apache-2.0
// Functions of this program proven against ops: the one of the example, and defects of it.
#include <cmath>

#include "mote/base/error.h"
#include "mote/oracle/gtest.h"

extern "C" int my_layer_norm(const float* x, const std::int64_t* sx, const float* gamma,
                             const std::int64_t* sgamma, const float* beta,
                             const std::int64_t* sbeta, float* y, const std::int64_t* sy,
                             std::int64_t R, std::int64_t N, double eps);

namespace mote {
namespace {

using Strides = const std::int64_t*;

int square_root(const float* x, Strides sx, float* y, Strides sy, std::int64_t I, std::int64_t J,
                std::int64_t K, std::int64_t L) {
  for (std::int64_t i = 0; i < I; ++i)
    for (std::int64_t j = 0; j < J; ++j)
      for (std::int64_t k = 0; k < K; ++k)
        for (std::int64_t l = 0; l < L; ++l)
          y[i * sy[0] + j * sy[1] + k * sy[2] + l * sy[3]] =
              std::sqrt(x[i * sx[0] + j * sx[1] + k * sx[2] + l * sx[3]]);
  return 0;
}

/// Leaves the last element of a row out.
int short_square_root(const float* x, Strides sx, float* y, Strides sy, std::int64_t I,
                      std::int64_t J, std::int64_t K, std::int64_t L) {
  return square_root(x, sx, y, sy, I, J, K, L - 1);
}

int crashes(const float*, Strides, float* y, Strides, std::int64_t, std::int64_t, std::int64_t,
            std::int64_t) {
  volatile std::int64_t far = std::int64_t{1} << 40;
  y[far] = 1;
  return 0;
}

int fails(const float*, Strides, float*, Strides, std::int64_t, std::int64_t, std::int64_t,
          std::int64_t) {
  return 7;
}

TEST(Function, OneLineProvesIt) {
  MOTE_EXPECT_KERNEL("sqrt", square_root);
  MOTE_EXPECT_KERNEL("layer_norm", my_layer_norm, {.row_major = true});
}

TEST(Function, AFailureHasItsSmallestCase) {
  const FunctionReport report = check_function("sqrt", typed(short_square_root));
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.text.rfind("unwritten: sqrt on function", 0), 0U) << report.text;
  EXPECT_NE(report.text.find("smallest case: sqrt x=f32[1,1,1,1]"), std::string::npos)
      << report.text;
}

TEST(Function, ACrashIsAFailureOfTheCaseOnly) {
  const FunctionReport report = check_function("sqrt", typed(crashes), {.count = 20});
  EXPECT_FALSE(report.passed);
  EXPECT_GT(report.judged, 0);
  EXPECT_NE(report.text.find("sqrt on function"), std::string::npos) << report.text;
}

/// Adds the terms now from the first, now from the last.
int sum_in_turns(const float* x, Strides sx, float* y, Strides sy, std::int64_t R, std::int64_t N,
                 std::int64_t C) {
  static bool is_forward = false;
  is_forward = !is_forward;
  for (std::int64_t r = 0; r < R; ++r)
    for (std::int64_t c = 0; c < C; ++c) {
      float sum = 0;
      for (std::int64_t k = 0; k < N; ++k)
        sum += x[r * sx[0] + (is_forward ? k : N - 1 - k) * sx[1] + c * sx[2]];
      y[r * sy[0] + c * sy[1]] = sum;
    }
  return 0;
}

TEST(Function, MayRoundEqualCallsOtherwiseIfItSaysSo) {
  EXPECT_FALSE(check_function("sum", typed(sum_in_turns)).passed);
  MOTE_EXPECT_KERNEL("sum", sum_in_turns, {.nondeterministic = true});
}

TEST(Function, AReturnedErrorIsAFailure) {
  EXPECT_FALSE(check_function("sqrt", typed(fails), {.count = 20}).passed);
}

TEST(Function, NothingJudgedIsNoSuccess) {
  const FunctionReport report = check_function("sqrt", typed(square_root), {.count = 0});
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.text, "no case was judged");
}

TEST(Function, ACaseCanBeGiven) {
  const FunctionReport report =
      check_function("sqrt", typed(short_square_root),
                     {.count = 0, .cases = {"sqrt x=f32[1,2,3,4] fill=index:0"}});
  EXPECT_EQ(report.judged, 1);
  EXPECT_FALSE(report.passed);
}

void expect_error(const std::string& op, const TypedFunction& f, const FunctionOptions& options,
                  const std::string& part) {
  try {
    check_function(op, f, options);
    ADD_FAILURE() << "expected an error: " << part;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(Function, OtherArgumentsAreAnError) {
  expect_error("matmul", typed(square_root), {}, "matmul: the function has other arguments");
  expect_error("sqrt", typed(square_root), {.dtype = DType::f64},
               "expected (const double*, const int64_t*, double*");
  expect_error("sqt", typed(square_root), {}, "did you mean sqrt");
  expect_error("sqrt", typed(square_root), {.accumulator = "f16"}, "native, f32 or f64");
}

}  // namespace
}  // namespace mote
