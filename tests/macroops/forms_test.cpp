// What the loops of ops come to after all passes: how many nests, which temporaries.
#include <gtest/gtest.h>

#include "mote/codegen/passes.h"
#include "run.h"

namespace mote {
namespace {

std::string trace(const OpRecord& record, const LoopProgram& p) {
  return record.name + "\n" + to_string(p);
}

TEST(Forms, EveryInstanceIsOneNestWithoutTemporaryTensors) {
  for (const OpRecord& record : catalogue()) {
    if (record.name.starts_with("attention")) continue;
    for (const Instance& instance : instances(record)) {
      if (instance.dtype != record.dtypes.front()) continue;
      const LoopProgram p = compile(instantiate(record, instance));
      EXPECT_LE(count(p).nests, 1) << trace(record, p);
      EXPECT_EQ(count(p).temporaries, 0) << trace(record, p);
      EXPECT_EQ(count(p).scatters, 0) << trace(record, p);
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
