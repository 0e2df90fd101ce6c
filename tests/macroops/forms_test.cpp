// SPDX-License-Identifier: Apache-2.0
// Tests the loops of ops after all passes: the number of nests, and the temporaries.
#include <gtest/gtest.h>

#include <algorithm>

#include "mote/codegen/passes.h"
#include "run.h"

namespace mote {
namespace {

std::string trace(const OpRecord& record, const LoopProgram& p) {
  return record.name + "\n" + to_string(p);
}

bool writes_where_an_index_says(const OpRecord& record) {
  return record.name.starts_with("scatter_") || record.name == "index_add" ||
         record.name == "max_unpool2d";
}

TEST(Forms, EveryInstanceIsOneNestWithoutTemporaryTensors) {
  for (const OpRecord& record : catalogue()) {
    if (record.name.starts_with("attention") || writes_where_an_index_says(record)) continue;
    for (const Instance& instance : instances(record)) {
      if (instance.dtype != record.dtypes.front()) continue;
      const LoopProgram p = compile(instantiate(record, instance));
      EXPECT_LE(count(p).nests, 1) << trace(record, p);
      EXPECT_EQ(count(p).temporaries, 0) << trace(record, p);
      EXPECT_EQ(count(p).scatters, 0) << trace(record, p);
    }
  }
}

TEST(Forms, ScattersKeepWhatTheyJoinOnceAndRowsOfOneAxisApart) {
  for (const OpRecord& record : catalogue()) {
    if (!writes_where_an_index_says(record)) continue;
    const LoopProgram p = compile(instantiate(record, {DType::f32, full_mask(record)}));
    const bool by_rows = record.name.starts_with("scatter_elements") || record.name == "index_add";
    EXPECT_EQ(count(p).scatters, 1) << trace(record, p);
    EXPECT_EQ(count(p).temporaries, 1) << trace(record, p);
    EXPECT_EQ(count(p).nests, by_rows ? 1 : 3) << trace(record, p);
  }
}

/// Returns the depth of nested loops; the two loops that an axis was split into count as one.
std::size_t depth(const Body& body) {
  std::size_t most = 0;
  for (const Stmt& s : body) {
    if (const auto* loop = std::get_if<Loop>(&s.kind)) {
      const bool half = loop->variable.name().ends_with("_outer");
      most = std::max(most, (half ? 0 : 1) + depth(loop->body));
    }
    if (const auto* branch = std::get_if<If>(&s.kind)) most = std::max(most, depth(branch->body));
  }
  return most;
}

TEST(Forms, NoLoopComputesAnewWhatALoopAroundItKnows) {
  for (const OpRecord& record : catalogue()) {
    for (const Instance& instance : instances(record)) {
      if (instance.dtype != record.dtypes.front()) continue;
      const auto program = instantiate(record, instance);
      const std::vector<Uop> outputs = roots(*program);
      int most_axes = 0;
      for (const Uop& u : topological(outputs)) most_axes = std::max(most_axes, u.rank());
      const LoopProgram p = compile(program);
      EXPECT_LE(depth(p.body), static_cast<std::size_t>(most_axes)) << trace(record, p);
    }
  }
}

TEST(Forms, AttentionKeepsOneRowOfScores) {
  for (const char* op :
       {"attention", "attention_with_lse", "attention_softcap", "attention_softcap_with_lse"}) {
    const OpRecord& record = find_op(op);
    for (const Instance& instance : instances(record)) {
      const LoopProgram p = compile(instantiate(record, instance));
      EXPECT_EQ(count(p).nests, 1) << trace(record, p);
      EXPECT_EQ(count(p).temporaries, 1) << trace(record, p);
      EXPECT_EQ(count(p).temporary_axes, 1) << trace(record, p);
      EXPECT_EQ(count(p).conditions, 0) << trace(record, p);
    }
  }
}

TEST(Forms, ConvolutionsAndPoolsHaveNoConditions) {
  for (const char* op :
       {"conv1d", "conv2d", "conv3d", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d",
        "group_norm", "max_pool3d", "avg_pool3d", "adaptive_max_pool2d", "lrn"}) {
    const OpRecord& record = find_op(op);
    const LoopProgram p = compile(instantiate(record, {DType::f32, full_mask(record)}));
    EXPECT_EQ(count(p).conditions, 0) << trace(record, p);
  }
}

TEST(Forms, ConvTransposeSkipsWhatTheStrideDoesNotDivideByOneConditionAnAxis) {
  const OpRecord& record = find_op("conv_transpose2d");
  const LoopProgram p = compile(instantiate(record, {DType::f32, full_mask(record)}));
  EXPECT_EQ(count(p).conditions, 2) << trace(record, p);
}

}  // namespace
}  // namespace mote
