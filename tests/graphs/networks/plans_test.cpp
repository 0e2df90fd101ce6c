// SPDX-License-Identifier: Apache-2.0
// The planned memory of small networks: budgets of checkpoints are kept, and plans are the same on
// every machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "mote/runtime/status.h"
#include "mote/symbolic/checkpoint.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/evaluate.h"
#include "networks.h"
#include "support/golden.h"

namespace mote::networks {
namespace {

Network small_cnn() {
  Network network = cnn(Mode::training, {.batch = 2, .size = 8, .classes = 5}, 3);
  training(network);
  return network;
}

Network small_transformer() {
  Network network = transformer(
      Mode::training,
      {.vocabulary = 7, .channels = 8, .heads = 2, .tokens = 6, .batch = 2, .blocks = 2});
  training(network);
  return network;
}

std::vector<Network> trained() {
  std::vector<Network> networks;
  networks.push_back(mlp(Mode::training, 16, {6, 16, 16, 16, 16, 4}));
  networks.push_back(residual_block(Mode::training, {.batch = 2, .size = 6, .classes = 5}, 4));
  networks.push_back(
      lstm(Mode::training, {.steps = 6, .batch = 3, .features = 4, .hidden = 6, .layers = 1}));
  for (Network& network : networks) training(network);
  networks.push_back(small_cnn());
  networks.push_back(small_transformer());
  return networks;
}

std::size_t planned(const SymbolicGraph& graph) {
  Context context;
  return plan_graph(graph, {}, context).arena_bytes;
}

/// Returns the planned bytes under the budget; none if it is refused, and then the least that is
/// possible in `least`.
std::optional<std::size_t> bytes_within(const Network& network, std::size_t budget,
                                        std::size_t& least) {
  SymbolicGraph graph = network.graph;
  try {
    checkpoint(graph, std::vector{graph.at(network.loss.index)},
               {.policy = CheckpointPolicy::budget, .budget = budget});
  } catch (const StatusError& e) {
    EXPECT_EQ(e.status(), MOTE_OUT_OF_MEMORY) << e.what();
    const std::string text = e.what();
    const std::string before = "needs at least ";
    const std::size_t at = text.find(before);
    EXPECT_NE(at, std::string::npos) << text;
    if (at != std::string::npos) least = std::stoull(text.substr(at + before.size()));
    return std::nullopt;
  }
  return planned(graph);
}

/// K3: what is compiled, with the passes that run by default, needs no more than the budget.
TEST(Plans, BudgetsAreKeptAndMoreNeverNeedsLess) {
  int checkpointed = 0;
  for (const Network& network : trained()) {
    SCOPED_TRACE(network.graph.name());
    const std::size_t without = planned(network.graph);
    std::size_t last = 0;
    std::size_t least = 0;
    for (const std::size_t percent : {40U, 60U, 75U, 85U, 95U, 100U}) {
      const std::size_t budget = without * percent / 100;
      const std::optional<std::size_t> bytes = bytes_within(network, budget, least);
      if (!bytes) {
        EXPECT_GT(least, budget);
        EXPECT_EQ(last, 0U) << "a smaller budget was kept";
        continue;
      }
      EXPECT_LE(*bytes, budget) << percent << " percent";
      EXPECT_GE(*bytes, last) << percent << " percent";
      last = *bytes;
      checkpointed += *bytes < without ? 1 : 0;
    }
    EXPECT_GT(last, 0U);
    if (least > 0) {
      EXPECT_LE(bytes_within(network, least, least).value_or(~std::size_t{0}), least);
    }
  }
  EXPECT_GT(checkpointed, 5) << "nearly all budgets were refused";
}

std::string offsets(const Network& network) {
  Context context;
  const CompileReport report = plan_graph(network.graph, {.outputs = network.outputs}, context);
  std::string text = std::to_string(report.arena_bytes) + " bytes\n";
  for (const CompiledBlock& block : report.blocks)
    text +=
        std::to_string(block.offset) + " " + std::to_string(block.bytes) + " " + block.name + "\n";
  return text;
}

// P3: the same text gives the same offsets on every machine.
TEST(Plans, OffsetsOfACnn) { test::expect_golden(offsets(small_cnn())); }
TEST(Plans, OffsetsOfATransformer) { test::expect_golden(offsets(small_transformer())); }

}  // namespace
}  // namespace mote::networks
