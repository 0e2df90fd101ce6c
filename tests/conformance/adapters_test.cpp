// SPDX-License-Identifier: Apache-2.0
// Tests the layer between an ONNX node and an op: shapes, attributes, the judgement, the table.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "accept.h"
#include "graph.h"
#include "memory.h"
#include "mote/base/error.h"
#include "one_node.h"
#include "report.h"
#include "shapes.h"
#include "temporary_folder.h"

namespace mote::onnx {
namespace {

TEST(Shapes, MergeWhereAllTensorsAllowIt) {
  using Shapes = std::vector<Dims>;
  EXPECT_EQ(merged({{2, 3, 4, 5, 6}}, 4), (Shapes{{1, 1, 1, 720}}));
  EXPECT_EQ(merged({{2, 3, 4}, {4}}, 4), (Shapes{{1, 1, 6, 4}, {1, 1, 1, 4}}));
  EXPECT_EQ(merged({{2, 1, 3, 1, 5}, {1, 7, 1, 1, 5}}, 4), (Shapes{{2, 1, 3, 5}, {1, 7, 1, 5}}));
  EXPECT_EQ(merged({{2, 0}, {}}, 2), (Shapes{{1, 0}, {1, 1}}));
  EXPECT_THROW(merged({{2, 1, 2, 1, 2}, {1, 2, 1, 2, 1}}, 4), NotApplicable);
  EXPECT_THROW(merged({{2}, {3}}, 4), Error);
}

TEST(Shapes, ViewsReadWhatTheySay) {
  const Array x = integers(DType::i64, {2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(permuted(x, {1, 0}), integers(DType::i64, {3, 2}, {0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(broadcast_to(integers(DType::i64, {2, 1}, {7, 8}), {2, 2}),
            integers(DType::i64, {2, 2}, {7, 7, 8, 8}));
  EXPECT_EQ(diagonal(integers(DType::i64, {2, 2}, {0, 1, 2, 3}), 0, 1),
            integers(DType::i64, {2}, {0, 3}));
  EXPECT_THROW(reshaped(x, {4}), Error);
  EXPECT_THROW(axis_of(2, 2), Error);
  EXPECT_EQ(axis_of(-2, 2), 0U);
}

TEST(Accept, ExactMeansEveryBit) {
  const Array a = array_of(DType::f32, {2}, {1, 2});
  const Array near = array_of(DType::f32, {2}, {1, 2.001});
  const Array far = array_of(DType::f32, {2}, {1, 2.003});
  EXPECT_EQ(mismatch(a, a, true), std::nullopt);
  EXPECT_EQ(mismatch(near, a, false), std::nullopt);
  EXPECT_EQ(mismatch(near, a, true),
            "1 of 2 elements differ (must be exact); the first at 1: got 2.000999927520752, "
            "expected 2");
  EXPECT_NE(mismatch(far, a, false), std::nullopt);
  const auto bf16 = [](double v) { return array_of(DType::bf16, {1}, {v}); };
  EXPECT_EQ(mismatch(bf16(1.015625), bf16(1), false), std::nullopt);
  EXPECT_NE(mismatch(bf16(1.0234375), bf16(1), false), std::nullopt);
}

TEST(Accept, IntegersShapesAndWhatIsNotFinite) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const auto f32 = [](double v) { return array_of(DType::f32, {1}, {v}); };
  EXPECT_EQ(mismatch(f32(nan), f32(nan), true), std::nullopt);
  EXPECT_NE(mismatch(f32(nan), f32(1), false), std::nullopt);
  EXPECT_NE(mismatch(f32(1), f32(nan), false), std::nullopt);
  EXPECT_NE(mismatch(f32(-inf), f32(inf), false), std::nullopt);
  EXPECT_NE(mismatch(f32(3e38), f32(inf), false), std::nullopt);
  EXPECT_NE(mismatch(integers(DType::i64, {1}, {1000}), integers(DType::i64, {1}, {1001}), false),
            std::nullopt);
  EXPECT_EQ(mismatch(f32(1), array_of(DType::f64, {1}, {1}), false), "got f32[1], expected f64[1]");
}

TEST(Kernels, ResultsAreExactAsLongAsNothingIsRoundedTwice) {
  const Array x = array_of(DType::f32, {1, 1, 1, 2}, {0.1, 0.7});
  const Array whole = array_of(DType::f32, {1, 2, 1}, {3, 4});
  Kernels moved, summed, once, twice, function;
  moved.run("neg", DType::f32, {&x});
  EXPECT_TRUE(moved.exact());
  summed.run("sum", DType::f32, {&whole});
  EXPECT_TRUE(summed.exact());
  once.run("add", DType::f32, {&x, &x});
  EXPECT_TRUE(once.exact());
  twice.run("mul", DType::f32, {&x, &x});
  twice.run("mul", DType::f32, {&x, &x});
  EXPECT_FALSE(twice.exact());
  function.run("exp", DType::f32, {&x});
  EXPECT_FALSE(function.exact());
  EXPECT_EQ(twice.calls(), 2);
  EXPECT_EQ(twice.evaluated(), 2);
}

TEST(Kernels, SayWhatIsMissing) {
  Kernels kernels;
  const Array flags{DType::boolean, {1, 1, 1, 1}, {1}};
  EXPECT_THROW(kernels.run("exp", DType::boolean, {&flags}), NotApplicable);
  EXPECT_THROW(kernels.run("no_such_op", DType::f32, {&flags}), NotApplicable);
  EXPECT_THROW(kernels.run("exp", DType::f32, {&flags}), InternalError);
  EXPECT_EQ(kernels.calls(), 0);
}

TEST(Graph, RunsANodeOfAnyRankWithItsAttributes) {
  Kernels kernels;
  const Model model = model_of("ArgMax", 1, {{"axis", whole(1)}, {"keepdims", whole(0)}});
  const auto y = run_model(model, {tensor_data({1, 3, 2}, {1, 9, 5, 2, 5, 9})}, kernels);
  EXPECT_EQ(y.at(0), integers(DType::i64, {1, 2}, {1, 0}));
  EXPECT_EQ(kernels.ops(), std::set<std::string>{"argmax"});
}

TEST(Graph, SaysWhyANodeIsNotApplicable) {
  EXPECT_EQ(why_not(model_of("TopK", 0), {}), "no op sorts");
  EXPECT_EQ(why_not(model_of("Frobnicate", 0), {}), "no op Frobnicate here");
  TensorData text;
  text.type = ElementType::string;
  EXPECT_EQ(why_not(model_of("Abs", 1), {text}), "element type string");
  const Model axes = model_of("Add", 2);
  EXPECT_EQ(why_not(axes, {tensor_data({2, 1, 2, 1, 2}, std::vector<float>(8)),
                           tensor_data({1, 2, 1, 2, 1}, std::vector<float>(4))}),
            "shapes [[2, 1, 2, 1, 2], [1, 2, 1, 2, 1]] do not merge to 4 axes");
}

TEST(Graph, AMalformedOneIsAnError) {
  Kernels kernels;
  Model model = model_of("Add", 2);
  EXPECT_THROW(run_model(model, {tensor_data({1}, {1})}, kernels), Error);  // x1 has no value
  model.opsets.clear();
  EXPECT_THROW(run_model(model, {tensor_data({1}, {1}), tensor_data({1}, {1})}, kernels), Error);
  EXPECT_THROW(
      run_model(model_of("Abs", 1), {tensor_data({1}, {1}), tensor_data({1}, {1})}, kernels),
      Error);
}

TEST(Suite, AFolderThatIsNoTestFails) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(find_tests(folder.path()), Error);
  const Result r = run_test(folder.path());
  EXPECT_EQ(r.verdict, Verdict::failed);
  EXPECT_NE(r.reason.find("model.onnx: cannot be opened"), std::string::npos) << r.reason;
}

Result result(const std::string& op, Verdict verdict, const std::string& reason = "") {
  return {"test", op, verdict, false, {}, reason};
}

TEST(Report, CountsByOperatorWithReasons) {
  const std::vector<Result> results = {result("Add", Verdict::passed),
                                       result("Add", Verdict::not_applicable, "element type uint8"),
                                       result("Exp", Verdict::failed, "wrong"),
                                       result("TopK", Verdict::not_applicable, "no op sorts"),
                                       result("TopK", Verdict::not_applicable, "no op sorts")};
  const std::string text = table(results);
  EXPECT_TRUE(
      text.starts_with("5 tests: 1 passed (0 of them compared bit for bit), 1 failed, 3 not "
                       "applicable."))
      << text;
  EXPECT_NE(text.find("| Add | 2 | 1 | 0 | 0 | 1 |  | element type uint8 |\n"), std::string::npos);
  EXPECT_NE(text.find("| Exp | 1 | 0 | 0 | 1 | 0 |  |  |\n"), std::string::npos);
  EXPECT_NE(text.find("| TopK | 2 | no op sorts |\n"), std::string::npos);
}

TEST(Report, ALossIsWhatPassedBefore) {
  const std::vector<Result> before = {result("Add", Verdict::passed),
                                      result("Exp", Verdict::passed)};
  const std::vector<Result> now = {result("Add", Verdict::passed),
                                   result("Exp", Verdict::not_applicable, "no op Exp here")};
  EXPECT_EQ(losses(table(before), before), std::vector<std::string>{});
  EXPECT_EQ(losses(table(now), before), std::vector<std::string>{});
  EXPECT_EQ(losses(table(before), now), std::vector<std::string>{"Exp: 1 passed, now 0"});
}

TEST(Report, ARowIsOutdatedThatDiffersInAWord) {
  const auto report_of = [](const std::string& reason) {
    return table({result("Add", Verdict::passed), result("Exp", Verdict::not_applicable, reason)});
  };
  const std::string earlier = report_of("no op Exp here"), now = report_of("element type int16");
  EXPECT_EQ(outdated(earlier, earlier), std::vector<std::string>{});
  EXPECT_EQ(outdated(earlier, now), std::vector<std::string>{"| Exp | 1 | no op Exp here |"});
}

}  // namespace
}  // namespace mote::onnx
