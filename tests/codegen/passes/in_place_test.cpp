// SPDX-License-Identifier: Apache-2.0
// Tests which in-place calls a program allows, and that the catalogue declares no other.
#include "mote/codegen/in_place.h"

#include <bit>

#include "mote/codegen/schedule.h"
#include "mote/macroops/catalogue.h"
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

std::optional<std::string> reason(const LoopProgram& p, const std::vector<InPlacePair>& pairs) {
  return why_not_in_place(p, pairs);
}
std::optional<std::string> reason(const std::string& text, const std::vector<InPlacePair>& pairs) {
  return reason(compile(program(text)), pairs);
}

TEST(InPlace, ElementByElement) {
  EXPECT_EQ(reason("op f\ninput x f32[M, N]\noutput y = tanh(x) + x\n", {{0, 0}}), std::nullopt);
}

TEST(InPlace, ARowThatIsReadBeforeItIsStored) {
  EXPECT_EQ(reason(R"(
op softmax
input x f32[R, N]
e = exp(x - max[1 keep](x))
output y = e / sum[1 keep](e)
)",
                   {{0, 0}}),
            std::nullopt);
}

TEST(InPlace, RefusesAReadOfTheNextElement) {
  EXPECT_EQ(reason("op f\ninput x f32[N]\noutput y = x + x[i0 - 1 over N]\n", {{0, 0}}),
            "x[n - 1] may be read after y[n] is written");
}

TEST(InPlace, RefusesARowThatEveryRowReads) {
  EXPECT_EQ(reason("op f\ninput x f32[R, N]\noutput y = x * x[0, i1 over R, N]\n", {{0, 0}}),
            "x[0, n] may be read after y[r, n] is written");
}

TEST(InPlace, RefusesATransposedRead) {
  EXPECT_NE(reason("op f\ninput x f32[N, N]\noutput y = x[i1, i0 over N, N]\n", {{0, 0}}),
            std::nullopt);
}

TEST(InPlace, RefusesOtherShapesAndDtypes) {
  EXPECT_EQ(reason("op f\ninput x f32[R, N]\noutput y = sum[1](x)\n", {{0, 0}}),
            "x and y differ in dtype or shape");
  EXPECT_EQ(reason("op f\ninput x f32[N]\noutput y = f64(x)\n", {{0, 0}}),
            "x and y differ in dtype or shape");
}

constexpr auto kStep = R"(
op step
input w f32[N]
input m f32[N]
output w_next = w - m
output m_next = m + w
)";

TEST(InPlace, SeveralPairsAtOnce) {
  EXPECT_EQ(reason(kStep, {{0, 0}, {1, 1}}), std::nullopt);
  EXPECT_EQ(reason(kStep, {{1, 0}, {0, 1}}), std::nullopt);
}

/// Without defer, m_next would read the new w.
TEST(InPlace, RefusesAStateThatALaterStoreReads) {
  const LoopProgram p = substitute(contract(fuse(lower(program(kStep)))));
  EXPECT_EQ(reason(p, {{0, 0}, {1, 1}}), "w[n] may be read after w_next[n] is written");
}

/// Returns the record's pairs whose inputs the instance has, by the positions in its program.
std::vector<InPlacePair> pairs_of(const OpRecord& record, const Instance& instance) {
  std::vector<InPlacePair> pairs;
  for (const auto& [input, output] : record.in_place) {
    const TensorMask before = mask_bit(static_cast<std::size_t>(input)) - 1;
    if (is_in(instance.input_mask, static_cast<std::size_t>(input)))
      pairs.emplace_back(std::popcount(instance.input_mask & before), output);
  }
  return pairs;
}

/// The test covers the compiled loops of every instance, and each version of its variant gen.
TEST(InPlace, TheCatalogueDeclaresOnlyWhatIsSafe) {
  int checked = 0;
  for (const OpRecord& record : catalogue()) {
    if (record.in_place.empty()) continue;
    for (const Instance& instance : instances(record)) {
      const std::vector<InPlacePair> pairs = pairs_of(record, instance);
      const LoopProgram p = compile(instantiate(record, instance));
      EXPECT_EQ(reason(p, pairs), std::nullopt) << record.name << " " << name(instance.dtype);
      if (!is_real(instance.dtype)) continue;
      for (const Version& v : schedule(p).versions)
        EXPECT_EQ(reason(v.program, pairs), std::nullopt)
            << record.name << " " << name(instance.dtype) << " " << v.name;
      checked += static_cast<int>(pairs.size());
    }
  }
  EXPECT_GT(checked, 100);
}

/// y would hold exp(x) before the loop over x / s has read x.
TEST(InPlace, WhatTheLoopsAllowTheScheduleAllows) {
  const LoopProgram p = compile(program(R"(
op kept
input x f32[R, N]
e = exp(x)
s = sum[1 keep](e)
t = sum[1 keep](x / s[i0, 0 over R, N])
output y = e / s[i0, 0 over R, N] * t[i0, 0 over R, N]
)"));
  const std::vector<InPlacePair> pairs = {{0, 0}};
  ASSERT_EQ(reason(p, pairs), std::nullopt);
  for (const Version& v : schedule(p).versions) EXPECT_EQ(reason(v.program, pairs), std::nullopt);
}

}  // namespace
}  // namespace mote
