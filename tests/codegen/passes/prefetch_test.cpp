// SPDX-License-Identifier: Apache-2.0
// Tests the step that fetches the next row of an input while a loop works on this one. The
// interpreter fails where a row is fetched that the input does not have.
#include "mote/codegen/emit_c.h"
#include "mote/codegen/schedule.h"
#include "steps_testing.h"

namespace mote {
namespace {

using namespace test;

/// Subtracts the mean of its row from each element.
const char* const kCentered = "input x f32[R, N]\nm = mean[1](x)\noutput y = x - m[i0 over R, N]\n";

TEST(Prefetch, TheLastLoopThatReadsARowFetchesTheNextOne) {
  expect_text(to_string(after(compiled(kCentered), "simd n, simd n2, prefetch r")),
              "simd for n2 in 0..N, prefetches x[min(r + 1, R - 1), n2] {");
}

/// The last iteration of b is followed by the next one of a.
TEST(Prefetch, ANestGoesOnInTheLoopAround) {
  const LoopProgram p =
      compiled("input x f32[A, B, N]\nm = mean[2](x)\noutput y = x - m[i0, i1 over A, B, N]\n");
  expect_text(to_string(after(p, "simd n, simd n2, prefetch b")),
              "prefetches x[min(a + max(0, b - B + 2), A - 1), b - B*max(0, b - B + 2) + 1, n2]");
}

TEST(Prefetch, TheCFetchesALineOfTheCacheAtATime) {
  const Version v = scheduled_by(compiled(kCentered), parse_steps("simd n, simd n2, prefetch r"));
  const std::string text = emit_c(Schedule{{v}}, {});
  expect_text(text, "for (int64_t n_ = 0; n_ < mote_imin(N, 4096); n_ += 16) {\n");
  expect_text(text, "mote_prefetch(&x[mote_imin(r + 1, R - 1) * sx0 + n_]);");
}

TEST(Prefetch, IsRefusedWithTheReason) {
  const std::string none =
      "op: step 'prefetch r' cannot be taken: no two of its loops read the same row of an input, "
      "element by element";
  const auto why = [](const std::string& statements, const std::string& steps) {
    return refusal(compiled(statements), steps);
  };
  EXPECT_EQ(why(kCentered, "prefetch r"), none) << "elements may lie apart";
  EXPECT_EQ(why("input x f32[R, N]\noutput y = sum[1](x)\n", "simd n, prefetch r"), none)
      << "one loop reads the row";
  EXPECT_EQ(why(kCentered, "simd n, simd n2, prefetch r, split n2 4"),
            "op: step 'split n2 4' cannot be taken: the loops fetch rows ahead already: take "
            "prefetch after it");
}

/// The elements that a guard asks for may not exist in the next row, or further along this one.
TEST(Prefetch, RowsThatAGuardAsksForAreNotFetched) {
  const auto text_of = [](const std::string& element, const std::string& extents) {
    const LoopProgram p =
        compiled("input x f32[R, N]\nparam p int = 1 in 0..3\nd = x[" + element + " over " +
                 extents + " else 1]\nm = max[1](d)\noutput v = d - m[i0 over " + extents + "]\n");
    const Schedule s = scheduled(p);
    return to_string(s);
  };
  expect_text(text_of("i0, i1", "R, N"), "prefetches x[");
  for (const auto& [element, extents] :
       {std::pair{"i0 + 1, i1", "R[=R], N"}, {"i0, i1", "R, N + 2"}, {"i0 + $p, i1", "R[=R], N"}})
    EXPECT_EQ(text_of(element, extents).find("prefetches"), std::string::npos) << element;
}

TEST(Prefetch, ARowThatStaysIsNotFetched) {
  const LoopProgram p = compiled(
      "input x f32[R, N]\ninput w f32[C, N]\n"
      "a = sum[2](x[i0, i2 over R, C, N]*w[i1, i2 over R, C, N])\n"
      "output y = max[2](x[i0, i2 over R, C, N] + w[i1, i2 over R, C, N] + a[i0, i1 over R, C, "
      "N])\n");
  const std::string text = to_string(after(p, "simd n, simd n2, prefetch c"));
  EXPECT_EQ(text.find("prefetches x["), std::string::npos) << text;
  expect_text(text, "prefetches w[");
}

/// An input that repeats along its row has one element there.
TEST(Prefetch, AnElementThatRepeatsIsNotFetched) {
  const LoopProgram p = compiled(
      "input x f32[R, N]\ninput w f32[R, 1|N]\nm = mean[1](w)\n"
      "output y = x + w - m[i0 over R, N]\n");
  const std::string steps = "simd n, simd n2, prefetch r";
  expect_text(to_string(after(p, steps)), "prefetches w[");
  const Version repeated = scheduled_by(p, parse_steps(steps + ", repeat w 1"));
  EXPECT_EQ(to_string(repeated.program).find("prefetches"), std::string::npos)
      << to_string(repeated.program);
}

}  // namespace
}  // namespace mote
