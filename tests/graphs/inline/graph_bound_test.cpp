// SPDX-License-Identifier: Apache-2.0
// Whole graphs in f32 judged by the bound of their program: what kernels compute, what a wrong one
// would, and graphs that cannot be judged.
#include "mote/oracle/graph_bound.h"

#include <gtest/gtest.h>

#include "mote/symbolic/evaluate.h"
#include "networks.h"

namespace mote {
namespace {

using networks::Mode;

struct Judged {
  std::variant<GraphBoundVerdict, Reason> result;

  std::string reason() const {
    const auto* reason = std::get_if<Reason>(&result);
    return reason != nullptr ? reason->text : "";
  }
  const GraphBoundVerdict& verdict() const { return std::get<GraphBoundVerdict>(result); }
};

/// Runs the network and judges it, with `error` added to the first element of its first output.
Judged judged(networks::Network network, double error = 0) {
  Context context;
  const std::vector<TensorBinding> values = networks::values(network, 1);
  std::vector<Tensor> results =
      evaluate(network.graph, values, network.graph.outputs(), {.context = &context});
  const AxisList first(std::vector<std::int64_t>(static_cast<std::size_t>(results[0].rank())));
  if (error != 0) results[0].set(first, results[0].real_at(first) + error);
  return {judge_by_bound(network.graph, values, results, context)};
}

networks::Network trained(networks::Network network) {
  networks::training(network);
  return network;
}

TEST(GraphBound, HoldsForNetworksAndTheirTraining) {
  const networks::Images images{.batch = 2, .size = 8, .classes = 3};
  const Judged all[] = {
      judged(trained(networks::mlp(Mode::training, 4, {8, 6, 3}))),
      judged(networks::cnn(Mode::inference, images, 2)),
      judged(networks::residual_block(Mode::inference, images, 2)),
      judged(networks::lstm(Mode::inference, {.steps = 3, .batch = 2, .features = 3, .hidden = 4})),
  };
  for (const Judged& one : all) {
    ASSERT_EQ(one.reason(), "");
    EXPECT_EQ(one.verdict().failure, std::nullopt);
    EXPECT_GT(one.verdict().judged, 0);
    EXPECT_EQ(one.verdict().open, 0);
  }
}

TEST(GraphBound, SaysWhichElementIsOutside) {
  const Judged one = judged(networks::mlp(Mode::inference, 4, {8, 6, 3}), 1e-3);
  ASSERT_EQ(one.reason(), "");
  ASSERT_TRUE(one.verdict().failure);
  const std::string& text = *one.verdict().failure;
  EXPECT_NE(text.find(": element [0,0]: got "), std::string::npos) << text;
  EXPECT_NE(text.find("; 1 of 12 are outside"), std::string::npos) << text;
}

TEST(GraphBound, IsNotJudgedBeyondItsLimits) {
  const Judged large = judged(networks::mlp(Mode::inference, 64, {512, 512, 512}));
  EXPECT_NE(large.reason().find("at most 1e+09 are computed"), std::string::npos) << large.reason();
}

}  // namespace
}  // namespace mote
