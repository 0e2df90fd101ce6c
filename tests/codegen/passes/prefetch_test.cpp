// SPDX-License-Identifier: Apache-2.0
// Tests the step that fetches the next row of an input while a loop works on this one.
#include "mote/codegen/emit_c.h"
#include "mote/codegen/schedule.h"
#include "steps_testing.h"

namespace mote {
namespace {

using namespace test;

LoopProgram compiled(const std::string& text) { return compile(program(text)); }

/// Subtracts the mean of its row from each element.
LoopProgram centered() {
  return compiled("op centered\ninput x f32[R, N]\noutput y = x - sum[1](x) / N\n");
}

TEST(Prefetch, TheLastLoopThatReadsARowFetchesTheNextOne) {
  const std::string text = to_string(after(centered(), "simd n, simd n2, prefetch r"));
  EXPECT_NE(text.find("simd for n2 in 0..N, prefetches x[min(r + 1, R - 1), n2] {"),
            std::string::npos)
      << text;
}

/// The last iteration of b is followed by the next one of a.
TEST(Prefetch, ANestGoesOnInTheLoopAround) {
  const LoopProgram p =
      compiled("op rows\ninput x f32[A, B, N]\noutput y = x - sum[2](x) / N\n");
  const std::string text = to_string(after(p, "simd n, simd n2, prefetch b"));
  EXPECT_NE(text.find("prefetches x[min(a + max(0, b - B + 2), A - 1), b - B*max(0, b - B + 2) + 1, "
                      "n2]"),
            std::string::npos)
      << text;
}

TEST(Prefetch, TheCFetchesALineOfTheCacheAtATime) {
  const Version v = scheduled_by(centered(), parse_steps("simd n, simd n2, prefetch r"));
  const std::string text = emit_c(Schedule{{v}}, {});
  EXPECT_NE(text.find("for (int64_t n2_ = 0; n2_ < mote_imin(N, 4096); n2_ += 16) {\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("mote_prefetch(&x[mote_imin(r + 1, R - 1) * sx0 + n2_]);"),
            std::string::npos)
      << text;
}

TEST(Prefetch, IsRefusedWithTheReason) {
  const std::string none =
      "op: step 'prefetch r' cannot be taken: no two of its loops read the same row of an input, "
      "element by element";
  const auto why = [](const std::string& body, const std::string& steps) {
    return refusal(compiled("op op\n" + body), steps);
  };
  const std::string two = "input x f32[R, N]\noutput y = x - sum[1](x) / N\n";
  EXPECT_EQ(why(two, "prefetch r"), none) << "rows may lie apart";
  EXPECT_EQ(why("input x f32[R, N]\noutput y = sum[1](x)\n", "simd n, prefetch r"), none)
      << "one loop reads the row";
  EXPECT_EQ(why("input x f32[R, N]; input z f32[N]\noutput y = x - sum[1](z + x[0, n] over [r, n])\n",
                "prefetch r"),
            none);
  EXPECT_EQ(why(two, "split r 4, simd n, simd n2, prefetch r"),
            "op: step 'prefetch r' cannot be taken: what follows the last iteration of loop r is "
            "not known");
}

/// The row is the same in all iterations.
TEST(Prefetch, ARowThatStaysIsNotFetched) {
  const LoopProgram p = compiled(
      "op same\ninput x f32[R, N]; input z f32[N]\n"
      "output y = x + (z - sum[1](z * x) / N)\n");
  const std::string text = to_string(after(p, "simd n, simd n2, prefetch r"));
  EXPECT_NE(text.find("prefetches x["), std::string::npos) << text;
  EXPECT_EQ(text.find("prefetches z["), std::string::npos) << text;
}

}  // namespace
}  // namespace mote
