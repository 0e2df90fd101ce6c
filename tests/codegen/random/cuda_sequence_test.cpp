// SPDX-License-Identifier: Apache-2.0
// Tests that kernels of which several have memory of blocks run one after the other.
#include "cuda_sequence.h"

#include <gtest/gtest.h>

#include "mote/codegen/passes.h"
#include "mote/uops/program.h"
#include "trial.h"

namespace mote::test {
namespace {

/// Expects that the kernels of these steps, in sequence, compute what the program says.
void expect_right_in_sequence(const std::string& text, const std::string& steps) {
  SCOPED_TRACE(steps);
  const auto program = std::make_shared<const Program>(parse_program(text));
  const LoopProgram loops = compile(program);
  const auto all = in_sequence(cuda_program_by(loops, parse_steps(steps), CudaVariant::gen));
  ASSERT_TRUE(all);
  ASSERT_NO_THROW(verify(*all)) << to_string(*all);
  const Trial trial = make_trials(*program, 1, 1).front();
  const std::vector<Array> inputs = make_inputs(*program, trial);
  EXPECT_EQ(interpret(*all, inputs, trial.params), evaluate(*program, inputs, trial.params));
}

/// Both tiles have sums, those of the pipelined one in fragments, of another rank.
TEST(CudaSequence, TellsTheMemoryOfTilesApart) {
  expect_right_in_sequence(R"(op products
input x f32[3, 2]
input y f32[2, 2]
input k i32[3, 2]
v = i32(i8(sum[2](x[i0, i2 over 3, 2, 2]*y[i2, i1 over 3, 2, 2])[i0, i1/2 over 2, 3]))
output e = sum[1](k[i0, 0 over 3, 2, 3]*v[i1, i2 over 3, 2, 3])
)",
                           "block_tile i2 64, block_tile i 128");
}

/// Rows and columns of several loops are counted through by further variables.
TEST(CudaSequence, TellsTheFurtherVariablesOfLoopsApart) {
  expect_right_in_sequence(R"(op products
input x f32[A, B, K]
input w f32[K, N]
input u f32[N, M]
v = sum[3](x[i0, i1, i3 over A, B, N, K]*w[i3, i2 over A, B, N, K])
output y = v
output z = sum[3](v[i0, i1, i3 over A, B, M, N]*u[i3, i2 over A, B, M, N])
)",
                           "distribute, block_tile a2 64, block_tile a3 64");
}

}  // namespace
}  // namespace mote::test
