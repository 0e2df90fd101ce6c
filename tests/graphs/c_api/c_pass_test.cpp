// SPDX-License-Identifier: Apache-2.0
// Tests the functions of mote/mote_rewriting.h for passes and replacements of a program's own, and
// those of mote/mote_memory.h for text and pictures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "graphs/c_api/c_graphs.h"

namespace {

using mote::test::named;
using mote::test::parsed;
using mote::test::SymbolicHandle;
using mote::test::text_of;

std::vector<mote_symbol> nodes_of(const mote_symbolic* graph) {
  std::size_t count = 0;
  EXPECT_EQ(mote_symbolic_nodes(graph, nullptr, 0, &count), MOTE_OK) << mote_last_error();
  std::vector<mote_symbol> nodes(count);
  EXPECT_EQ(mote_symbolic_nodes(graph, nodes.data(), count, &count), MOTE_OK);
  return nodes;
}

/// Puts relu for each tanh, and counts them in `argument`.
mote_status rectify(void* argument, mote_symbolic* graph) {
  for (const mote_symbol node : nodes_of(graph)) {
    const char* command = nullptr;
    if (mote_symbolic_node_command(graph, node, &command) != MOTE_OK) return MOTE_FAILED;
    if (command == nullptr || std::strcmp(command, "tanh") != 0) continue;
    mote_symbol x = MOTE_NO_SYMBOL, y = MOTE_NO_SYMBOL;
    std::size_t count = 0;
    mote_status status = mote_symbolic_node_inputs(graph, node, &x, 1, &count);
    if (status == MOTE_OK) status = mote_symbolic_apply(graph, "relu", &x, 1, &y, 1);
    if (status == MOTE_OK) status = mote_symbolic_replace_uses(graph, node, y);
    if (status == MOTE_OK) status = mote_symbolic_remove(graph, node);
    if (status != MOTE_OK) return status;
    ++*static_cast<int*>(argument);
  }
  return MOTE_OK;
}

/// Changes the graph, and fails then.
mote_status fail_late(void* argument, mote_symbolic* graph) {
  int count = 0;
  EXPECT_EQ(rectify(&count, graph), MOTE_OK);
  return mote_symbolic_apply(graph, static_cast<const char*>(argument), nullptr, 0, nullptr, 0);
}

mote_status applied_pass(mote_symbolic* graph, const char* name) {
  return mote_symbolic_apply_passes(graph, &name, 1);
}

TEST(PassC, ReadsAndChangesNodes) {
  static int rectified = 0;
  const mote_pass pass = {sizeof(mote_pass), "rectify", "Puts relu for tanh.", rectify, &rectified};
  ASSERT_EQ(mote_register_pass(&pass), MOTE_OK) << mote_last_error();
  EXPECT_EQ(mote_register_pass(&pass), MOTE_INVALID);  // there is one of that name
  const SymbolicHandle g = parsed();
  ASSERT_EQ(applied_pass(g, "rectify"), MOTE_OK) << mote_last_error();
  EXPECT_EQ(rectified, 1);
  const std::string text = text_of(g);
  EXPECT_NE(text.find("relu("), std::string::npos) << text;
  EXPECT_EQ(text.find("tanh("), std::string::npos) << text;
}

TEST(PassC, ThatFailsLeavesTheGraphAsItWas) {
  static char unknown[] = "no_such_op";
  const mote_pass pass = {sizeof(mote_pass), "fail_late", nullptr, fail_late, unknown};
  ASSERT_EQ(mote_register_pass(&pass), MOTE_OK) << mote_last_error();
  const SymbolicHandle g = parsed();
  const std::string before = text_of(g);
  EXPECT_EQ(applied_pass(g, "fail_late"), MOTE_INVALID);
  EXPECT_NE(std::strstr(mote_last_error(), "fail_late"), nullptr) << mote_last_error();
  EXPECT_NE(std::strstr(mote_last_error(), "no_such_op"), nullptr) << mote_last_error();
  EXPECT_EQ(text_of(g), before);
}

TEST(PassC, ListsInputsThatAreLeftOut) {
  const SymbolicHandle g = parsed("graph one(x f32[2,4], beta f32[4]) -> (x)\n");
  const mote_symbol given[] = {named(g, "x"), MOTE_NO_SYMBOL, named(g, "beta")};
  mote_symbol y = MOTE_NO_SYMBOL;
  ASSERT_EQ(mote_symbolic_apply(g, "layer_norm", given, 3, &y, 1), MOTE_OK) << mote_last_error();
  std::size_t count = 0;
  std::vector<mote_symbol> inputs(3);
  ASSERT_EQ(mote_symbolic_node_inputs(g, y, inputs.data(), inputs.size(), &count), MOTE_OK);
  ASSERT_EQ(count, 3U);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(inputs[k].index, given[k].index) << k;
  EXPECT_EQ(mote_symbolic_node_inputs(g, given[0], inputs.data(), 3, &count), MOTE_INVALID);
  EXPECT_NE(std::strstr(mote_last_error(), "no node writes x"), nullptr) << mote_last_error();
}

TEST(ReplacementC, IsUsedByThePass) {
  const mote_replacement row = {sizeof(mote_replacement),
                                "twice",
                                "graph p(x f32[?]) -> (y)\n  h = neg(x)\n  y = relu(h)",
                                "graph r(x f32[?]) -> (y)\n  y = abs(x)",
                                1,
                                "It is wrong, so that the test sees it."};
  ASSERT_EQ(mote_register_replacement(&row), MOTE_OK) << mote_last_error();
  EXPECT_EQ(mote_register_replacement(&row), MOTE_INVALID);
  const SymbolicHandle g = parsed("graph one(x f32[4]) -> (y)\n  h = neg(x)\n  y = relu(h)\n");
  ASSERT_EQ(applied_pass(g, "replace"), MOTE_OK) << mote_last_error();
  EXPECT_NE(text_of(g).find("y = abs(x)"), std::string::npos) << text_of(g);
}

TEST(PassC, RefusesWhatIsMissing) {
  mote_pass pass = {sizeof(mote_pass), "nameless", nullptr, nullptr, nullptr};
  EXPECT_EQ(mote_register_pass(&pass), MOTE_INVALID);
  EXPECT_NE(std::strstr(mote_last_error(), "pass.run is NULL"), nullptr) << mote_last_error();
  pass = {sizeof(mote_pass), nullptr, nullptr, fail_late, nullptr};
  EXPECT_EQ(mote_register_pass(&pass), MOTE_INVALID);
  pass.size = 8;
  EXPECT_EQ(mote_register_pass(&pass), MOTE_INVALID);
  EXPECT_EQ(mote_register_pass(nullptr), MOTE_INVALID);
  EXPECT_EQ(mote_register_replacement(nullptr), MOTE_INVALID);
  const mote_replacement row = {
      sizeof(mote_replacement), "bad", "graph p(", "graph r(", 0, nullptr};
  EXPECT_EQ(mote_register_replacement(&row), MOTE_INVALID);
}

TEST(MemoryC, TextAndPicture) {
  const char* text = "id,lower,upper,size,offset\na,0,3,8,0\nb,2,5,16,8\n";
  mote_memory_block blocks[2] = {};
  std::uint64_t offsets[2] = {};
  std::size_t count = 0;
  std::int32_t has_offsets = 0;
  ASSERT_EQ(mote_memory_from_csv(text, blocks, offsets, 2, &count, &has_offsets), MOTE_OK)
      << mote_last_error();
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(has_offsets, 1);
  EXPECT_EQ(blocks[1].bytes, 16U);
  EXPECT_EQ(blocks[1].begin, 2);
  EXPECT_EQ(blocks[1].end, 5);
  EXPECT_EQ(offsets[1], 8U);
  std::size_t size = 0;
  ASSERT_EQ(mote_memory_to_csv(blocks, 2, offsets, nullptr, 0, &size), MOTE_OK);
  std::string written(size, 'x');
  ASSERT_EQ(mote_memory_to_csv(blocks, 2, offsets, written.data(), size, &size), MOTE_OK);
  EXPECT_EQ(std::strlen(written.c_str()) + 1, size);
  mote_memory_block again[2] = {};
  ASSERT_EQ(mote_memory_from_csv(written.c_str(), again, offsets, 2, &count, nullptr), MOTE_OK);
  EXPECT_EQ(std::memcmp(blocks, again, sizeof(blocks)), 0);
  ASSERT_EQ(mote_memory_to_svg(blocks, 2, offsets, nullptr, 0, &size), MOTE_OK);
  std::string picture(size, 'x');
  ASSERT_EQ(mote_memory_to_svg(blocks, 2, offsets, picture.data(), 5, &size), MOTE_OK);
  EXPECT_EQ(picture[4], 0);  // the text ends where the room does
  ASSERT_EQ(mote_memory_to_svg(blocks, 2, offsets, picture.data(), picture.size(), &size), MOTE_OK);
  EXPECT_EQ(picture.rfind("</svg>") != std::string::npos, true) << picture;
}

TEST(MemoryC, RefusesBadText) {
  std::size_t count = 0;
  EXPECT_EQ(mote_memory_from_csv("id,lower\n", nullptr, nullptr, 0, &count, nullptr), MOTE_INVALID);
  EXPECT_EQ(mote_memory_from_csv(nullptr, nullptr, nullptr, 0, &count, nullptr), MOTE_INVALID);
  const mote_memory_block block = {8, 1, 0, 2};
  EXPECT_EQ(mote_memory_to_csv(&block, 1, nullptr, nullptr, 0, nullptr), MOTE_INVALID);
  EXPECT_EQ(mote_memory_to_svg(&block, 1, nullptr, nullptr, 0, &count), MOTE_INVALID);
}

}  // namespace
