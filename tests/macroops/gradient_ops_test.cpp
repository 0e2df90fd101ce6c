// SPDX-License-Identifier: Apache-2.0
// Tests gradients as ops: the tensors that they take, their instances, and that all are checked
// programs.
#include <gtest/gtest.h>

#include <algorithm>

#include "mote/base/error.h"
#include "run.h"

namespace mote {
namespace {

/// Returns a text like "gy x? -> gx", where ? marks an input of which only the shape is needed.
std::string tensors(const OpRecord& record, const Instance& instance) {
  const auto p = instantiate(record, instance);
  const std::vector<bool> read = read_inputs(*p);
  std::string text;
  for (std::size_t k = 0; k < read.size(); ++k)
    text += std::get<uop::Input>(p->inputs[k].node().kind).name + (read[k] ? " " : "? ");
  text += "->";
  for (const Output& o : p->outputs) text += " " + o.name;
  return text;
}

std::string whole(const char* op) {
  const OpRecord& record = find_op(op);
  return tensors(record, {DType::f32, full_mask(record)});
}

TEST(GradientOps, TakeWhatTheyNeed) {
  EXPECT_EQ(whole("conv2d.grad"), "gy x w b? -> gx gw gb");
  EXPECT_EQ(whole("mean.grad"), "gy x? -> gx");
  EXPECT_EQ(whole("add.grad"), "gy -> ga gb");
  EXPECT_EQ(whole("embedding.grad"), "gy weight? index -> gweight");
  EXPECT_EQ(whole("matmul.grad.grad"), "gga ggb gy a b -> ggy ga_ gb_");
}

/// An output is given if it saves a sum or a function, or replaces another tensor.
TEST(GradientOps, AreGivenTheOutputsThatSpareWork) {
  EXPECT_EQ(whole("exp.grad"), "gy y -> gx");
  EXPECT_EQ(whole("tanh.grad"), "gy y -> gx");
  EXPECT_EQ(whole("softmax.grad"), "gy y -> gx");
  EXPECT_EQ(whole("reduce_max.grad"), "gy x y -> gx");
  EXPECT_EQ(whole("pow.grad"), "gy a b y -> ga gb");
  EXPECT_EQ(whole("max_pool2d_with_indices.grad"), "gy x? indices -> gx");
  EXPECT_EQ(whole("div.grad"), "gy a b -> ga gb");
  EXPECT_EQ(whole("l2_normalise.grad"), "gy x -> gx");
  EXPECT_EQ(whole("gelu.grad"), "gy x -> gx");
}

TEST(GradientOps, AnOptionalInputAsksForItsGradientByBeingThere) {
  const OpRecord& record = find_op("layer_norm.grad");
  std::vector<std::string> all;
  for (const Instance& i : instances(record))
    if (i.dtype == DType::f32) all.push_back(tensors(record, i));
  std::ranges::sort(all);
  EXPECT_EQ(all, (std::vector<std::string>{"gy x -> gx", "gy x beta? -> gx gbeta",
                                           "gy x gamma -> gx ggamma",
                                           "gy x gamma beta? -> gx ggamma gbeta"}));
}

TEST(GradientOps, OfSeveralOutputsTheFirstMayHaveAGradientAlone) {
  const OpRecord& record = find_op("attention_with_lse.grad");
  std::vector<std::string> all;
  for (const Instance& i : instances(record))
    if (i.dtype == DType::f32) all.push_back(tensors(record, i));
  EXPECT_EQ(all.size(), 4U);
  EXPECT_TRUE(std::ranges::find(all, "gy q k v y lse -> gq gk gv") != all.end());
  EXPECT_TRUE(std::ranges::find(all, "gy glse q k v mask y lse -> gq gk gv gmask") != all.end());
}

TEST(GradientOps, OfWhereNothingFlowsThereIsNone) {
  EXPECT_EQ(gradient_of(find_op("floor")), nullptr);
  EXPECT_EQ(gradient_of(find_op("argmax")), nullptr);
  EXPECT_EQ(gradient_of(find_op("hardmax")), nullptr);
  EXPECT_EQ(gradient_orders(find_op("floor")), 0);
  try {
    find_op("floor.grad");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "op floor has no gradient: nothing flows from its outputs to its inputs");
  }
}

TEST(GradientOps, AreTheSameObjectEachTime) {
  EXPECT_EQ(&find_op("gemm.grad"), gradient_of(find_op("gemm")));
  EXPECT_EQ(&find_op("gemm.grad.grad"), gradient_of(find_op("gemm.grad")));
  EXPECT_EQ(gradient_order(find_op("gemm.grad.grad")), 2);
}

TEST(GradientOps, SmoothOpsAreGeneratedToOrderTwo) {
  for (const char* op : {"gelu", "mul", "matmul", "conv2d", "softmax", "log_softmax", "layer_norm",
                         "group_norm", "mean", "norm2", "attention"})
    EXPECT_EQ(gradient_orders(find_op(op)), 2) << op;
  for (const char* op : {"embedding", "max_pool2d", "conv3d", "tile"})
    EXPECT_EQ(gradient_orders(find_op(op)), 1) << op;
}

TEST(GradientOps, AnInstanceThatThereIsNotIsAnError) {
  const OpRecord& record = find_op("layer_norm.grad.grad");
  TensorMask without_gamma = full_mask(record);
  for (std::size_t k = 0; k < record.inputs.size(); ++k)
    if (record.inputs[k].name == "gamma") without_gamma &= ~(std::uint32_t{1} << k);
  EXPECT_FALSE(has_instance(record, {DType::f32, without_gamma}));
  EXPECT_THROW(instantiate(record, {DType::f32, without_gamma}), Error);
}

TEST(GradientOps, EveryInstanceIsACheckedProgramThatPrintsAndParsesBack) {
  int gradients = 0;
  for (const OpRecord* record : generated_ops()) {
    if (gradient_order(*record) == 0) continue;
    ++gradients;
    EXPECT_TRUE(has_instance(*record, {record->dtypes.front(), full_mask(*record)}));
    for (const Instance& i : instances(*record)) {
      const auto p = instantiate(*record, i);
      EXPECT_EQ(p->name, record->name);
      EXPECT_TRUE(equal(parse_program(to_string(*p)), *p)) << to_string(*p);
    }
  }
  EXPECT_GE(gradients, 220);
}

}  // namespace
}  // namespace mote
