// SPDX-License-Identifier: Apache-2.0
// A test in one line: TEST(Softmax, IsRight) { MOTE_EXPECT_KERNEL("softmax", my_softmax); }
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "mote/oracle/function.h"

namespace mote {

/// Success when every case of the op passed and at least one was judged. The function has the
/// signature that `mote emit OP` prints and returns 0. Throws Error as check_function() does.
template <typename... Arguments>
testing::AssertionResult is_kernel_of(const std::string& op, int (*function)(Arguments...),
                                      const FunctionOptions& options = {}) {
  const FunctionReport report = check_function(op, typed(function), options);
  if (report.passed) return testing::AssertionSuccess() << report.judged << " cases passed";
  return testing::AssertionFailure() << report.text;
}

}  // namespace mote

#define MOTE_EXPECT_KERNEL(...) EXPECT_TRUE(::mote::is_kernel_of(__VA_ARGS__))
