// SPDX-License-Identifier: Apache-2.0
// Tests functions of this program against ops: the function of the example, and defects of it.
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "mote/base/error.h"
#include "mote/oracle/gtest.h"
#include "shell.h"

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

/// Leaves out the last element of a row.
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

/// Adds the terms alternately from the first and from the last.
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

int throws(const float*, Strides, float*, Strides, std::int64_t, std::int64_t, std::int64_t,
           std::int64_t) {
  throw std::runtime_error("no table of roots");
}

int throws_a_number(const float*, Strides, float*, Strides, std::int64_t, std::int64_t,
                    std::int64_t, std::int64_t) {
  throw 7;
}

TEST(Function, AnExceptionOfTheKernelHasItsOwnText) {
  const std::string text = check_function("sqrt", typed(throws), {.count = 5}).text;
  EXPECT_NE(text.find("threw an exception: no table of roots"), std::string::npos) << text;
  const std::string number = check_function("sqrt", typed(throws_a_number), {.count = 5}).text;
  EXPECT_NE(number.find("threw an exception of type int"), std::string::npos) << number;
}

TEST(Function, WhatTheCheckThrowsIsAFailureWithItsText) {
  const testing::AssertionResult result = is_kernel_of("sqt", square_root);
  EXPECT_FALSE(result);
  EXPECT_NE(std::string(result.message()).find("did you mean sqrt"), std::string::npos)
      << result.message();
}

TEST(Function, SaysHowMuchWasJudged) {
  const FunctionReport report = check_function("sqrt", typed(square_root), {.count = 40});
  EXPECT_TRUE(report.passed);
  EXPECT_TRUE(report.text.starts_with("passed: " + std::to_string(report.judged) + " cases judged"))
      << report.text;
  EXPECT_NE(
      std::string(is_kernel_of("sqrt", square_root, {.count = 40}).message()).find(" cases judged"),
      std::string::npos);
}

TEST(Function, HasTheNameOfTheExpression) {
  EXPECT_EQ(name_of_function("square_root"), "square_root");
  EXPECT_EQ(name_of_function("&mine::relu<float>, {.count = 9}"), "mine::relu<float>");
  EXPECT_EQ(name_of_function("+[](const float*, int) { return 0; }"), "function");
  EXPECT_EQ(name_of_function(""), "function");
}

int exponential(const float* x, Strides sx, float* y, Strides sy, std::int64_t I, std::int64_t J,
                std::int64_t K, std::int64_t L) {
  for (std::int64_t i = 0; i < I; ++i)
    for (std::int64_t j = 0; j < J; ++j)
      for (std::int64_t k = 0; k < K; ++k)
        for (std::int64_t l = 0; l < L; ++l)
          y[i * sy[0] + j * sy[1] + k * sy[2] + l * sy[3]] =
              std::exp(x[i * sx[0] + j * sx[1] + k * sx[2] + l * sx[3]]);
  return 0;
}

int short_exponential(const float* x, Strides sx, float* y, Strides sy, std::int64_t I,
                      std::int64_t J, std::int64_t K, std::int64_t L) {
  return exponential(x, sx, y, sy, I, J, K, L - 1);
}

// Only the tests below run this: one function passes, one fails, one belongs to another op.
TEST(DISABLED_Replayed, Fails) {
  MOTE_EXPECT_KERNEL("exp", exponential, {.count = 10});
  MOTE_EXPECT_KERNEL("exp", short_exponential, {.count = 20});
  MOTE_EXPECT_KERNEL("sum", sum_in_turns, {.nondeterministic = true, .count = 10});
}

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

test::Ran replayed(const std::string& variable) {
  return test::run_in_shell(variable + " " + this_program() +
                            " --gtest_also_run_disabled_tests "
                            "--gtest_filter=DISABLED_Replayed.Fails");
}

/// Returns the line `replay: …` of a report.
std::string replay_line(const std::string& text) {
  const std::string word = "  replay: ";
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return "";
  return text.substr(at + word.size(), text.find('\n', at) - at - word.size());
}

TEST(Function, TheReplayLineRunsThatCaseAgain) {
  const test::Ran first = replayed("");
  ASSERT_EQ(first.code, 1) << first.out;
  const std::string line = replay_line(first.out);
  EXPECT_TRUE(line.starts_with("MOTE_REPLAY='exp x=f32[1,1,1,1]")) << first.out;
  EXPECT_NE(line.find(" backend=short_exponential'"), std::string::npos) << line;
  EXPECT_TRUE(line.ends_with("--gtest_filter=DISABLED_Replayed.Fails")) << line;

  const test::Ran again = test::run_in_shell(line);
  EXPECT_EQ(again.code, 1) << again.out;
  EXPECT_NE(again.out.find("unwritten: exp on short_exponential, 1 time"), std::string::npos)
      << again.out;
  EXPECT_EQ(replay_line(again.out), line);
  EXPECT_EQ(again.out.find("diagnosis: "), std::string::npos) << again.out;
  // Other functions have no case judged.
  EXPECT_NE(again.out.find("exp on exponential: not judged: MOTE_REPLAY is a case of exp on "
                           "short_exponential"),
            std::string::npos)
      << again.out;
  EXPECT_NE(again.out.find("sum on sum_in_turns: not judged: "), std::string::npos) << again.out;

  // This is the line after a fix: here, on the correct function.
  const std::string wrong = "backend=short_exponential", right = "backend=exponential";
  std::string mended = line;
  mended.replace(mended.find(wrong), wrong.size(), right);
  const test::Ran passed = test::run_in_shell(mended);
  EXPECT_EQ(passed.code, 0) << passed.out;
  EXPECT_NE(passed.out.find("exp on exponential: passed: 1 case judged"), std::string::npos)
      << passed.out;
}

TEST(Function, AReplayThatIsNoCaseIsAnError) {
  const test::Ran ran = replayed("MOTE_REPLAY='sqrt x=f33[1]'");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.out.find("MOTE_REPLAY: sqrt: "), std::string::npos) << ran.out;
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
  expect_error("sqrt", typed(square_root), {.name = "my root"}, "without blanks, got 'my root'");
}

}  // namespace
}  // namespace mote
