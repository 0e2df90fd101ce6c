// SPDX-License-Identifier: Apache-2.0
// Tests the gradient of every op of the catalogue against dual numbers and differences, to order 2,
// elementwise ones to order 3; and the loops of gradients.
#include "mote/uops/gradient.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gradient_cases.h"
#include "mote/base/error.h"
#include "mote/codegen/passes.h"
#include "mote/uops/invert.h"
#include "run.h"

namespace mote {
namespace {

TEST(Gradient, OfEveryOp) {
  int ops = 0, all_judged = 0, all_asked = 0;
  for (const OpRecord& record : catalogue()) {
    if (std::find(record.dtypes.begin(), record.dtypes.end(), DType::f64) == record.dtypes.end())
      continue;
    const auto p = instantiate(record, {DType::f64, full_mask(record)});
    if (!test::is_differentiable(*p)) continue;
    ++ops;
    int judged = 0, asked = 0, cases = 0;
    for (std::uint64_t seed = 1; seed < 60 && cases < 3; ++seed) {
      test::GradientCase c;
      try {
        c = test::some_case(*p, seed, seed % 2 == 0);
      } catch (const Error&) {
        continue;  // for example, a window larger than the image
      }
      ++cases;
      // Elementwise functions are cheap enough for one more order.
      const int order = record.family == "elementwise" ? 3 : 2;
      asked += 2 * order;
      const std::string text = check_gradient(std::move(c), order, seed, &judged);
      EXPECT_EQ(text, "") << record.name << " seed " << seed;
      if (!text.empty()) break;
    }
    // Functions like roots have derivatives only in the positive case, one of the three.
    EXPECT_EQ(cases, 3) << record.name;
    EXPECT_GE(3 * judged, asked) << record.name;
    all_judged += judged;
    all_asked += asked;
  }
  EXPECT_GE(ops, 90);
  EXPECT_GE(100 * all_judged, 95 * all_asked);
}

// ---- forms

LoopCount gradient_form(const std::string& op, const std::string& wrt) {
  const OpRecord& record = find_op(op);
  GradientRequest request;
  if (!wrt.empty()) request.wrt = {wrt};
  const auto p = instantiate(record, {DType::f32, full_mask(record)});
  return count(compile(std::make_shared<const Program>(invert(gradient(*p, request).program))));
}

TEST(GradientForms, OneNestWithoutTemporariesOrScatters) {
  const std::pair<const char*, const char*> cases[] = {
      {"matmul", "a"},           {"matmul", "b"},     {"conv1d", "x"},
      {"conv2d", "x"},           {"conv2d", "w"},     {"conv2d", "b"},
      {"conv3d", "x"},           {"conv3d", "w"},     {"conv_transpose2d", "x"},
      {"conv_transpose2d", "w"}, {"avg_pool2d", "x"}, {"adaptive_avg_pool2d", "x"},
      {"log_softmax", "x"},      {"logsumexp", "x"},  {"layer_norm", "x"},
      {"rms_norm", "x"},         {"gelu", "x"},       {"tile", "x"}};
  for (const auto& [op, wrt] : cases) {
    const auto c = gradient_form(op, wrt);
    EXPECT_EQ(c.nests, 1) << op << " " << wrt;
    EXPECT_EQ(c.temporaries, 0) << op << " " << wrt;
    EXPECT_EQ(c.scatters, 0) << op << " " << wrt;
  }
}

TEST(GradientForms, NormsKeepMeanAndSlopePerGroup) {
  for (const char* op : {"layer_norm", "rms_norm", "group_norm", "instance_norm"}) {
    const auto c = gradient_form(op, "");
    EXPECT_LE(c.temporaries, 2) << op;
    EXPECT_EQ(c.scatters, 0) << op;
  }
}

TEST(GradientForms, SoftmaxKeepsARow) {
  const auto c = gradient_form("softmax", "x");
  EXPECT_EQ(c.nests, 1);
  EXPECT_LE(c.temporaries, 1);
  EXPECT_LE(c.temporary_axes, 1);
}

}  // namespace
}  // namespace mote
