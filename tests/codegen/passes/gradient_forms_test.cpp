// SPDX-License-Identifier: Apache-2.0
// Tests the forms that gradients must reach: one nest for each gradient, no scatter, no temporary
// except those named here; the loops as golden files.
#include <algorithm>

#include "mote/macroops/catalogue.h"
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

/// Returns the loops of the op's whole gradient; expects them to be correct and to match the golden
/// file.
LoopProgram gradient_loops(const std::string& op) {
  const OpRecord& record = find_op(op + ".grad");
  LoopProgram p = compile(instantiate(record, {DType::f32, full_mask(record)}));
  verify(p);
  expect_right(p);
  expect_golden(to_string(p));
  EXPECT_EQ(count(p).scatters, 0);
  return p;
}

void expect_a_nest_each(const std::string& op) {
  const LoopProgram p = gradient_loops(op);
  EXPECT_EQ(count(p).nests, static_cast<int>(p.source->outputs.size()));
  EXPECT_EQ(count(p).temporaries, 0);
}

/// Returns the shapes of the temporaries, like "R", in sorted order.
std::vector<std::string> kept(const LoopProgram& p) {
  std::vector<std::string> shapes;
  for (const TensorDecl& t : p.tensors) {
    if (t.role != TensorRole::temporary) continue;
    std::string text;
    for (const Expr& e : t.shape) text += (text.empty() ? "" : ", ") + e.to_string();
    shapes.push_back(text);
  }
  std::ranges::sort(shapes);
  return shapes;
}

using Shapes = std::vector<std::string>;

TEST(GradientForms, Matmul) { expect_a_nest_each("matmul"); }
TEST(GradientForms, Conv2d) { expect_a_nest_each("conv2d"); }
TEST(GradientForms, ConvTranspose2d) { expect_a_nest_each("conv_transpose2d"); }
TEST(GradientForms, AvgPool2d) { expect_a_nest_each("avg_pool2d"); }
TEST(GradientForms, Softmax) { expect_a_nest_each("softmax"); }
TEST(GradientForms, LogSoftmax) { expect_a_nest_each("log_softmax"); }
TEST(GradientForms, MaxPool2dWithIndices) { expect_a_nest_each("max_pool2d_with_indices"); }

TEST(GradientForms, MaxPool2dKeepsTheIndexImage) {
  const LoopProgram p = gradient_loops("max_pool2d");
  EXPECT_EQ(count(p).nests, 1);
  ASSERT_EQ(count(p).temporaries, 1);
  EXPECT_EQ(count(p).temporary_axes, 2);
  const auto image = std::ranges::find(p.tensors, TensorRole::temporary, &TensorDecl::role);
  EXPECT_EQ(image->dtype, DType::i64);
}

TEST(GradientForms, LayerNormKeepsTwoNumbersARow) {
  EXPECT_EQ(kept(gradient_loops("layer_norm")), (Shapes{"R", "R"}));
}
TEST(GradientForms, RmsNormKeepsOneNumberARow) {
  EXPECT_EQ(kept(gradient_loops("rms_norm")), (Shapes{"R"}));
}
TEST(GradientForms, GroupNormKeepsTwoNumbersAGroup) {
  EXPECT_EQ(kept(gradient_loops("group_norm")), (Shapes{"N, $groups", "N, $groups"}));
}

TEST(GradientForms, InstanceNormKeepsTwoNumbersAChannel) {
  EXPECT_EQ(kept(gradient_loops("instance_norm")), (Shapes{"N, C", "N, C"}));
}
/// The statistics are inputs here.
TEST(GradientForms, LayerNormWithStatisticsKeepsNothing) {
  EXPECT_EQ(kept(gradient_loops("layer_norm_with_statistics")), Shapes{});
}
TEST(GradientForms, BatchNormTrainingKeepsNothing) {
  EXPECT_EQ(kept(gradient_loops("batch_norm_training")), Shapes{});
}

/// The gradient keeps, for each query, rows over the keys, and for each key, rows over the queries
/// that share its head: no matrix of scores. Each query also keeps the greatest score, the sum of
/// exp and that of gy*y.
TEST(GradientForms, AttentionKeepsRows) {
  const LoopProgram p = gradient_loops("attention");
  EXPECT_EQ(count(p).nests, 1);
  EXPECT_EQ(kept(p), (Shapes{"G, T", "G, T", "G, T", "G, T", "G, T", "S", "S", "S"}));
}
/// With lse given, each query keeps only the sum of gy*y.
TEST(GradientForms, AttentionWithLseKeepsRows) {
  const LoopProgram p = gradient_loops("attention_with_lse");
  EXPECT_EQ(count(p).nests, 1);
  EXPECT_EQ(kept(p), (Shapes{"G, T", "G, T", "G, T", "S"}));
}

}  // namespace
}  // namespace mote
