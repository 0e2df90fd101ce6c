// SPDX-License-Identifier: Apache-2.0
// Random graphs, with views, partial writes, edges, marks and changes by passes, read back equal.
// MOTE_TEXT_SEED replays one.
#include <gtest/gtest.h>

#include <cstdlib>

#include "changing_graph.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/text.h"
#include "same_graph.h"

namespace mote {
namespace {

void check_seed(std::uint64_t seed, std::size_t& nodes) {
  test::ChangingGraph changing(seed);
  changing.change();
  const SymbolicGraph& g = changing.graph();
  nodes += g.node_count();
  const std::string text = to_text(g);
  const std::string replay = "MOTE_TEXT_SEED=" + std::to_string(seed) + "\n" + text;
  try {
    const SymbolicGraph again = parse_graph(text);
    ASSERT_EQ(test::difference(g, again), "") << replay;
    ASSERT_EQ(to_text(again), text) << replay;
  } catch (const StatusError& e) {
    FAIL() << e.what() << "\n" << replay;
  }
}

TEST(TextRandom, GraphsReadBackEqual) {
  std::size_t nodes = 0;
  if (const char* seed = std::getenv("MOTE_TEXT_SEED"))
    return check_seed(std::strtoull(seed, nullptr, 10), nodes);
  for (std::uint64_t seed = 0; seed < 6000 && !HasFatalFailure(); ++seed) check_seed(seed, nodes);
  EXPECT_GT(nodes, 20000U);  // else the graphs are too small to say anything
}

}  // namespace
}  // namespace mote
