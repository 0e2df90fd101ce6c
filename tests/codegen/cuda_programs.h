// SPDX-License-Identifier: Apache-2.0
// Programs and checks that the tests of CUDA text share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "mote/codegen/passes.h"

namespace mote::test {

inline LoopProgram compiled(const std::string& text) {
  return compile(std::make_shared<const Program>(parse_program(text)));
}

inline void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in\n" << text;
}

/// y[m, n] = max(sum_k a[m, k] * b[k, n] + c[n], 0)
inline constexpr const char* kProduct = R"(op product
input a f32[M, K]; input b f32[K, N]; input c f32[N]
output y = max(sum[2](a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K]) + c[i1 over M, N], 0.0)
)";

}  // namespace mote::test
