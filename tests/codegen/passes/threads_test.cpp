// SPDX-License-Identifier: Apache-2.0
// Tests which loops of a schedule threads share, and how their work is counted.
#include <algorithm>

#include "mote/codegen/emit_c.h"
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

const Version& version_of(const Schedule& s, const std::string& name) {
  return *std::ranges::find(s.versions, name, &Version::name);
}

/// Returns true if the body stores an element outside of all loops that threads share.
bool stores_on_one_thread(const Body& body) {
  return std::ranges::any_of(body, [](const Stmt& s) {
    if (const auto* l = std::get_if<Loop>(&s.kind))
      return l->kind != LoopKind::threads && stores_on_one_thread(l->body);
    if (const auto* branch = std::get_if<If>(&s.kind)) return stores_on_one_thread(branch->body);
    return std::holds_alternative<Store>(s.kind) || std::holds_alternative<StoreReduce>(s.kind);
  });
}

/// Returns the outermost loops that run on one thread.
std::string on_one_thread(const Version& v) {
  std::string loops;
  for (const Stmt& s : v.program.body)
    if (const auto* l = std::get_if<Loop>(&s.kind))
      if (l->kind != LoopKind::threads && stores_on_one_thread(l->body))
        loops += l->variable.name() + " ";
  return loops;
}

/// Returns the last step, which shares the loops of the last nest.
std::string last_step(const Version& v) { return to_string(v.steps.back().step); }

/// The sums of a tile's blocks lie in an array, all of whose rows it fills first: those behind the
/// last result too.
TEST(Threads, ShareTilesWhoseSumsAreInBlocks) {
  for (const char* op : {"conv2d.grad", "conv3d.grad"}) {
    const Schedule s = schedule(compiled_op(op), {.may_multiply_padding = true});
    for (const char* name : {"tile_64", "tile_32", "tile_16"})
      EXPECT_EQ(on_one_thread(version_of(s, name)), "") << op << " " << name;
  }
}

/// Blocks of sums follow one another; within a block, threads share its copies, each of which all
/// tiles read, and then the tiles.
TEST(Threads, ShareTheTilesOfEachBlockOfSums) {
  const Schedule s = schedule(compiled_op("conv2d.grad"), {.may_multiply_padding = true});
  const std::string steps = [&] {
    std::string all;
    for (const TakenStep& taken : version_of(s, "tile_64").steps)
      all += to_string(taken.step) + ", ";
    return all;
  }();
  EXPECT_NE(steps.find("threads co3_outer3 kh32 kw32 ci3_part32"), std::string::npos) << steps;
}

/// Panels of pairs are filled in two parts, of whole pairs and of the last half.
TEST(Threads, ShareTilesOfPairs) {
  for (const DType dtype : {DType::i8, DType::u8})
    for (const char* op : {"conv2d_integer", "qconv2d"}) {
      const Schedule s = schedule(compiled_op(op, dtype), {.may_multiply_padding = true});
      for (const char* name : {"tile_64", "tile_32", "tile_16"})
        EXPECT_EQ(on_one_thread(version_of(s, name)), "") << op << " " << name;
    }
}

/// A tile of rows reads its own rows only, and the last one again where it has fewer.
TEST(Threads, ShareTilesThatRepeatTheLastRow) {
  for (const char* op : {"gru_cell.grad", "lstm_cell.grad"}) {
    const Schedule s = schedule(compiled_op(op));
    EXPECT_EQ(on_one_thread(version_of(s, "tile_64")), "") << op;
  }
}

TEST(Threads, LeaveALoopWhoseLimitsDoNotDependOnItToEachThread) {
  const Schedule pools = schedule(compiled_op("max_pool2d"));
  EXPECT_EQ(last_step(version_of(pools, "registers")), "threads n oh");
  EXPECT_EQ(last_step(version_of(pools, "")), "threads n c oh");
  const Schedule s = schedule(compiled_op("conv2d"), {.may_multiply_padding = true});
  EXPECT_EQ(last_step(version_of(s, "tile_64")), "threads n co_outer oh ow_block")
      << "an iteration is long";
}

/// A loop over a size that must be 1 is none: those below it are shared too.
TEST(Threads, ShareLoopsBelowASizeOfOne) {
  const Schedule s = schedule(compiled_op("conv2d"), {.may_multiply_padding = true});
  EXPECT_EQ(last_step(version_of(s, "registers_of_ones")), "threads n oh");
  EXPECT_EQ(last_step(version_of(s, "innermost_of_ones")), "threads n oh");
}

/// Where a scatter's elements lie side by side, threads share parts of their range.
TEST(Threads, ShareScattersByParts) {
  for (const char* op : {"embedding.grad", "gather.grad", "gather_elements.grad", "index_add",
                         "scatter_elements", "scatter_elements_add", "scatter_nd", "scatter_nd_add",
                         "scatter_nd_max", "scatter_nd_max.grad"}) {
    const Version& first = schedule(compiled_op(op)).versions.front();
    EXPECT_TRUE(has_step(first, StepKind::outward)) << op;
    EXPECT_EQ(on_one_thread(first), "") << op;
  }
}

/// Each part repeats the loops around its columns. There are as many parts as threads, so that one
/// thread alone repeats nothing.
TEST(Threads, TakePartsAsLargeAsTheyCan) {
  const std::string text = emit_c(schedule(compiled_op("embedding.grad")), {.standalone = true});
  for (const char* line :
       {"const int64_t part = mote_part(D, 64);\n",
        "for (int64_t d2_start = 0; d2_start < D; d2_start += part) {\n",
        "const int64_t d2_start_end = mote_imin(d2_start + part, D);\n", "< d2_start_end; "})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

/// A negative test: each iteration reads what the one before has stored.
TEST(Threads, ShareNoIterationsThatReadOneAnother) {
  const Version any = schedule(running_sum()).versions.back();
  EXPECT_NE(on_one_thread(any), "");
}

/// The tiles of gx. Loops under a condition count, and one along a window counts as if no tap lay
/// outside.
TEST(Threads, WorkIsThatOfTheDeepestLoops) {
  const Schedule s = schedule(compiled_op("conv2d.grad"), {.may_multiply_padding = true});
  const Version& tiles = version_of(s, "tile_64");
  EXPECT_EQ(std::get<Loop>(tiles.program.body.at(1).kind).work.to_string(),
            "CG*CO*H*KH*KW*N*W*$groups");
}

}  // namespace
}  // namespace mote
