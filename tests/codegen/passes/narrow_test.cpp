// SPDX-License-Identifier: Apache-2.0
// Tests the step that compares positions in 32 bits. after() compares what the loops mean before
// and after it, in parts of 3 iterations here, so that most cases have several parts.
#include "mote/codegen/emit_c.h"
#include "mote/codegen/schedule.h"
#include "steps_testing.h"

namespace mote {
namespace {

using namespace test;

const char* const kArgmax = "input x f32[R, N]\noutput y = argmax[1](x)\n";

TEST(Narrow, APartComparesDifferencesThatFit32Bits) {
  const LoopProgram p = after(compiled(kArgmax), "positions, simd n, simd n_again, narrow 3");
  expect_text(to_string(p), "for n_again_part in 0..N step 3 with ");
  expect_text(to_string(p), "simd for n_again in n_again_part..min(n_again_part + 3, N) with ");
  const std::vector<Step> steps = parse_steps("positions, simd n, simd n_again, narrow 1073741824");
  const std::string text = emit_c(Schedule{{scheduled_by(compiled(kArgmax), steps)}}, {});
  expect_text(text, "int32_t ");
  expect_text(text, "#pragma omp simd reduction(min : ");
  expect_text(text, "mote_min_i32(");
}

/// With $last = 1, the positions fall while the loop rises.
TEST(Narrow, PositionsMayFall) {
  (void)after(compiled_op("argmax"), "positions, simd n, simd n_again, narrow 3");
  (void)after(compiled_op("argmin"), "positions, simd n, simd n_again, narrow 2");
}

TEST(Narrow, OtherLoopsStay) {
  const std::string none = "op: step 'narrow 3' cannot be taken: no simd loop looks for a position";
  EXPECT_EQ(refusal(compiled(kArgmax), "positions, simd n, narrow 3"), none) << "it is serial";
  EXPECT_EQ(refusal(compiled("input x f32[R, N]\noutput y = min[1](x)\n"), "simd n, narrow 3"),
            none);
  EXPECT_EQ(refusal(compiled("input x i64[R, N]\noutput y = min[1](x)\n"), "simd n, narrow 3"),
            none)
      << "the values are no positions";
}

}  // namespace
}  // namespace mote
