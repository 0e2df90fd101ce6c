// SPDX-License-Identifier: Apache-2.0
// Tests programs altered in one location: the alterations that are tried, that each is a program of
// the same tensors, and their descriptions.
#include "diagnosis/altered.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "mote/macroops/catalogue.h"
#include "mote/uops/evaluate.h"

namespace mote::diagnosis {
namespace {

std::vector<Altered> of(const std::string& text) { return altered_programs(parse_program(text)); }

bool has(const std::vector<Altered>& all, const std::string& value) {
  return std::ranges::any_of(all, [&](const Altered& a) {
    return to_string(*a.program).find("output y = " + value + "\n") != std::string::npos;
  });
}

TEST(Altered, FunctionsAreLeftOutExchangedAndSplit) {
  const auto all = of(
      "op f\nparam eps real = 0.1\ninput x f32[N]\ninput w f32[N]\noutput y = w*sqrt(x + $eps)\n");
  EXPECT_TRUE(has(all, "w*(x + $eps)"));        // without sqrt
  EXPECT_TRUE(has(all, "sqrt(x + $eps)"));      // without w
  EXPECT_TRUE(has(all, "w*sqrt(x)"));           // without eps
  EXPECT_TRUE(has(all, "w*(sqrt(x) + $eps)"));  // outside of the root
  EXPECT_TRUE(has(all, "w*sqrt(x) + $eps"));    // outside of both
  EXPECT_TRUE(has(all, "w*sqrt(x - $eps)"));    // with another sign
  EXPECT_TRUE(has(all, "w*x"));                 // with another input of that shape
  EXPECT_FALSE(has(all, "w*sqrt(x + $eps)"));   // unchanged
  EXPECT_FALSE(has(all, "x*w"));                // changed in two locations
  std::set<std::string> texts;
  for (const Altered& a : all) EXPECT_TRUE(texts.insert(to_string(*a.program)).second) << a.text();
}

TEST(Altered, SizesAndIndicesMoveByOne) {
  const auto means = of("op f\ninput x f32[N]\noutput y = x - mean[0 keep](x)\n");
  EXPECT_TRUE(std::ranges::any_of(
      means, [](const Altered& a) { return a.text() == "with N - 1 in place of N"; }));
  const auto shifted = of("op f\ninput x f32[N, M]\noutput y = x[i0, M - i1 - 1 over N, M]\n");
  EXPECT_TRUE(has(shifted, "x[i0, M - i1 over N, M]"));
  EXPECT_TRUE(has(shifted, "x[i1, M - i1 - 1 over N, M]"));
  const auto halves = of("op f\ninput x f32[N]\noutput y = x[(i0 + 1)/2 over N]\n");
  EXPECT_TRUE(has(halves, "x[1 - (1 - i0)/2 over N]"));  // rounded up
  EXPECT_TRUE(has(halves, "x[i0/2 over N]"));            // without the offset
}

TEST(Altered, NarrowIntegersWrapAndSaturate) {
  const auto all = of("op f\ninput x u8[N]\ninput z u8[N]\noutput y = f32(i64(x) - i64(z))\n");
  EXPECT_TRUE(has(all, "f32(i64(i8(i64(x) - i64(z))))"));
  EXPECT_TRUE(has(all, "f32(i64(u8(i64(x) - i64(z))))"));
}

/// Returns the text of the alteration whose program contains that text.
std::string text_of(const std::vector<Altered>& all, const std::string& program) {
  for (const Altered& a : all)
    if (to_string(*a.program).find(program) != std::string::npos) return a.text();
  return "none";
}

TEST(Altered, SaysFormulasInTheOpsOwnNames) {
  EXPECT_EQ(text_of(of("op f\ninput x f32[N]\noutput y = log1p(x)\n"), "log(f32(x + 1))"),
            "with log(f32(x[n] + 1)) in place of log1p(x[n])");
  const auto norm =
      of("op f\nparam eps real = 0.1\ninput x f32[R, N]\ninput gamma f32[N]\n"
         "output y = x*rsqrt(mean[1 keep](x*x) + $eps)*gamma[i1 over R, N]\n");
  EXPECT_EQ(text_of(norm, "recip(sqrt(mean[1 keep](x*x)) + $eps)"),
            "with 1/(sqrt(sum_n'(x[r, n']^2)/N) + eps) in place of "
            "1/sqrt(sum_n'(x[r, n']^2)/N + eps)");
  EXPECT_EQ(text_of(norm, "gamma[i0 over R, N]"), "with gamma[r] in place of gamma[n]");
  const auto moved = of("op f\nparam k int = 1\ninput x f32[N]\noutput y = x[i0 + $k over N]\n");
  EXPECT_EQ(text_of(moved, "x[i0 + $k + 1 over N]"), "with x[n + k + 1] in place of x[n + k]");
}

/// Each text has at most 200 characters and no program text.
TEST(Altered, FormulasAreShortAndNoProgramText) {
  for (const char* op : {"attention", "adam", "lstm_cell", "conv_transpose2d", "cross_entropy",
                         "layer_norm", "index_add", "qconv2d"}) {
    const OpRecord& record = find_op(op);
    const Program& program = *instantiate(record, {record.dtypes.front(), full_mask(record)});
    for (const Altered& a : altered_programs(program)) {
      const std::string text = a.text();
      EXPECT_LE(text.size(), 200U) << text;
      for (const char* mark : {"$", "`", "iota", " over ", "keep]", "output "})
        EXPECT_EQ(text.find(mark), std::string::npos) << op << ": " << text;
    }
  }
}

TEST(Altered, OtherNumbersHaveAKindOfTheirOwn) {
  const auto kind_of = [](const std::vector<Altered>& all, const std::string& words) {
    for (const Altered& a : all)
      if (a.text() == words) return a.kind;
    return std::string("none");
  };
  const auto softmax = of("op f\ninput x f32[R, N]\noutput y = x/max[1 keep](x)\n");
  EXPECT_EQ(kind_of(softmax, "with the maximum begun at 0"), "another start");
  EXPECT_EQ(kind_of(softmax, "with 0 where a row has nothing to sum"), "empty row");
  const auto bytes = of("op f\ninput x f32[N]\noutput y = u8(x)\n");
  EXPECT_EQ(kind_of(bytes, "with values kept between 0 and 254"), "saturates");
  const auto integers = of("op f\ninput x i32[N]\ninput w i32[N]\noutput y = x*w\n");
  EXPECT_EQ(kind_of(integers, "with i32(f32(x[n]*w[n])) in place of x[n]*w[n]"),
            "integers as floats");
}

TEST(Altered, EveryOnePrintsAsAProgramOfTheSameTensors) {
  for (const char* op : {"softmax", "conv2d", "layer_norm", "gather", "scatter_elements", "dropout",
                         "lstm_cell", "quantize", "cross_entropy", "attention"}) {
    const OpRecord& record = find_op(op);
    const Program& program = *instantiate(record, {record.dtypes.front(), full_mask(record)});
    const std::vector<Altered> all = altered_programs(program);
    EXPECT_GT(all.size(), 20U) << op;
    for (const Altered& a : all) {
      const Program read = parse_program(to_string(*a.program));
      ASSERT_EQ(read.inputs.size(), program.inputs.size()) << a.text();
      ASSERT_EQ(read.outputs.size(), program.outputs.size()) << a.text();
      for (std::size_t k = 0; k < read.outputs.size(); ++k)
        EXPECT_EQ(read.outputs[k].value.dtype(), program.outputs[k].value.dtype()) << a.text();
    }
  }
}

}  // namespace
}  // namespace mote::diagnosis
