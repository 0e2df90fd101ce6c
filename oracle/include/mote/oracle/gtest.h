// SPDX-License-Identifier: Apache-2.0
// A one-line test of a kernel: TEST(Softmax, IsRight) { MOTE_EXPECT_KERNEL("softmax", my_softmax);
// }
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <exception>
#include <string>

#include "mote/oracle/function.h"

namespace mote {

/// The command that runs the current test alone.
inline std::string command_of_this_test() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  if (test == nullptr) return program_command();
  return program_command(
      {std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name()},
      "--gtest_filter");
}

/// Succeeds when every case of the op passed and at least one was judged; a line then says how
/// many. The function has the signature that `mote emit OP` prints and returns 0. An exception of
/// check_function() is a failure with its text.
template <typename... Arguments>
testing::AssertionResult is_kernel_of(const std::string& op, int (*function)(Arguments...),
                                      FunctionOptions options = {}) {
  if (options.command.empty()) options.command = command_of_this_test();
  try {
    const FunctionReport report = check_function(op, typed(function), options);
    if (!report.passed) return testing::AssertionFailure() << report.text;
    std::printf("[     mote ] %s on %s: %s\n", op.c_str(), options.name.c_str(),
                report.text.c_str());
    return testing::AssertionSuccess() << report.text;
  } catch (const std::exception& e) {
    return testing::AssertionFailure() << e.what();
  }
}

/// Does the same; a function without a name gets that of the expression, as it stands in the
/// source.
template <typename... Arguments>
testing::AssertionResult is_kernel_named(const std::string& expression, const std::string& op,
                                         int (*function)(Arguments...),
                                         FunctionOptions options = {}) {
  if (options.name == kUnnamedFunction) options.name = name_of_function(expression);
  return is_kernel_of(op, function, options);
}

}  // namespace mote

/// Takes (op, function) or (op, function, options).
#define MOTE_EXPECT_KERNEL(op, ...) \
  EXPECT_TRUE(::mote::is_kernel_named(#__VA_ARGS__, op, __VA_ARGS__))
