// SPDX-License-Identifier: Apache-2.0
// Each network is a well-formed graph with the known number of parameters, and computes numbers.
#include "networks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "mote/base/variant_names.h"
#include "mote/generated/kernels.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"

namespace mote::networks {
namespace {

std::int64_t parameter_count(const Network& network) {
  std::int64_t count = 0;
  for (const TensorSymbol parameter : network.parameters)
    count += element_count(network.graph.form(parameter));
  return count;
}

std::size_t nodes_of(const Network& network, std::string_view op) {
  std::size_t count = 0;
  for (const NodeInfo& node : network.graph.nodes())
    count += node.kind == NodeKind::command && node.command->definition().name == op ? 1 : 0;
  return count;
}

/// Returns the outputs, of which no element is NaN or infinite.
std::vector<Tensor> finite_outputs(const Network& network) {
  verify(network.graph);
  std::vector<Tensor> outputs = evaluate(network.graph, values(network, 1), network.outputs);
  for (const Tensor& y : outputs) {
    std::int64_t bad = 0;
    const auto* const elements = static_cast<const float*>(y.data());
    for (std::int64_t k = 0; k < y.element_count(); ++k) bad += std::isfinite(elements[k]) ? 0 : 1;
    EXPECT_EQ(bad, 0) << network.graph.name() << " " << to_string(y.shape());
  }
  return outputs;
}

constexpr Images kSmall = {.batch = 2, .size = 32, .classes = 5};

TEST(Networks, AreThoseOfThePapers) {
  const Network resnet50 = resnet(Mode::inference, {});
  EXPECT_EQ(parameter_count(resnet50), 25557032);  // torchvision's resnet50
  EXPECT_EQ(nodes_of(resnet50, "conv2d"), 53U);
  const Network densenet121 = densenet(Mode::inference, {});
  EXPECT_EQ(parameter_count(densenet121), 7978856);  // torchvision's densenet121
  EXPECT_EQ(nodes_of(densenet121, "conv2d"), 120U);
  EXPECT_EQ(parameter_count(densenet(Mode::training, {}, Join::concat)), 7978856);
  // nanoGPT of 4 layers, 4 heads, 128 channels, with biases.
  EXPECT_EQ(parameter_count(transformer(Mode::training, {})),
            65 * 128 + 64 * 128 + 4 * (12 * 128 * 128 + 13 * 128) + 2 * 128);
}

TEST(Networks, AreWellFormedAtFullSize) {
  for (const Mode mode : {Mode::inference, Mode::training}) {
    verify(resnet(mode, {}).graph);
    verify(densenet(mode, {}).graph);
    verify(densenet(mode, {}, Join::concat).graph);
    verify(transformer(mode, {}).graph);
    verify(lstm(mode, {.steps = 256, .layers = 2}).graph);
  }
}

std::vector<Network> small_networks(Mode mode) {
  std::vector<Network> networks;
  networks.push_back(resnet(mode, kSmall, {1, 2, 1}, 4));
  networks.push_back(densenet(mode, kSmall, Join::views, {2, 3}, 4));
  networks.push_back(densenet(mode, kSmall, Join::concat, {2, 3}, 4));
  networks.push_back(lstm(mode, {.steps = 5, .batch = 3, .features = 4, .hidden = 6, .layers = 2}));
  networks.push_back(transformer(
      mode, {.vocabulary = 7, .channels = 8, .heads = 2, .tokens = 6, .batch = 2, .blocks = 2}));
  networks.push_back(mlp(mode, 3, {6, 5, 4}));
  networks.push_back(cnn(mode, {.batch = 2, .size = 8, .classes = 5}, 3));
  networks.push_back(residual_block(mode, {.batch = 2, .size = 6, .classes = 5}, 4));
  return networks;
}

TEST(Networks, ComputeNumbers) {
  for (const Mode mode : {Mode::inference, Mode::training}) {
    for (const Network& network : small_networks(mode)) {
      const std::vector<Tensor> outputs = finite_outputs(network);
      EXPECT_EQ(outputs.size(), 1 + (mode == Mode::training ? network.state.size() : 0));
      EXPECT_EQ(static_cast<bool>(network.loss), mode == Mode::training);
    }
  }
}

TEST(Networks, ATrainingStepLowersTheLoss) {
  for (Network& network : small_networks(Mode::training)) {
    const std::size_t parameters = network.parameters.size();
    const TrainingStep step = training(network, Optimiser::adam);
    EXPECT_EQ(step.gradients.size(), parameters);
    EXPECT_EQ(step.next_moments.size(), 2 * parameters);
    finite_outputs(network);
    std::vector<TensorBinding> bindings = values(network, 1);
    std::vector<TensorSymbol> asked = {network.loss};
    asked.insert(asked.end(), step.next_parameters.begin(), step.next_parameters.end());
    const std::vector<Tensor> first = evaluate(network.graph, bindings, asked);
    for (TensorBinding& binding : bindings) {
      const auto at = std::ranges::find(network.parameters, binding.first);
      if (at != network.parameters.end())
        binding.second = first[1 + static_cast<std::size_t>(at - network.parameters.begin())];
    }
    const std::vector<Tensor> second = evaluate(network.graph, bindings, asked);
    EXPECT_LT(second[0].real_at({}), first[0].real_at({})) << network.graph.name();
  }
}

TEST(Networks, TrainingStepsAreWellFormedAtFullSize) {
  std::vector<Network> networks;
  networks.push_back(resnet(Mode::training, {}));
  networks.push_back(densenet(Mode::training, {}));
  networks.push_back(densenet(Mode::training, {}, Join::concat));
  networks.push_back(transformer(Mode::training, {}));
  networks.push_back(lstm(Mode::training, {.steps = 256, .layers = 2}));
  for (Network& network : networks) {
    training(network, Optimiser::adam);
    verify(network.graph);
    EXPECT_EQ(nodes_of(network, "adam"), network.parameters.size());
  }
}

/// The kernels that reorder nothing, so that bits do not depend on strides.
const mote_backend& reference_kernels() {
  static const std::vector<mote_kernel> kernels = [] {
    std::vector<mote_kernel> result;
    for (const mote_generated_kernel& k : generated_kernels())
      if (k.variant == kReference) result.push_back(k.kernel);
    return result;
  }();
  static const mote_backend backend = {.size = sizeof(mote_backend),
                                       .name = "reference",
                                       .version = "1",
                                       .kernel_count = static_cast<std::int32_t>(kernels.size()),
                                       .reserved = 0,
                                       .kernels = kernels.data()};
  return backend;
}

TEST(Networks, ADenseBlockIsTheSameByViewsAndByConcat) {
  const mote_backend* const backend = &reference_kernels();
  std::vector<Tensor> logits;
  for (const Join join : {Join::views, Join::concat}) {
    const Network network = densenet(Mode::inference, kSmall, join, {2, 3}, 4);
    logits.push_back(evaluate(network.graph, values(network, 1), network.outputs,
                              {.backends = std::span(&backend, 1)})[0]);
  }
  ASSERT_EQ(logits[0].shape(), logits[1].shape());
  const auto bytes = static_cast<std::size_t>(logits[0].element_count()) * sizeof(float);
  EXPECT_EQ(std::memcmp(logits[0].data(), logits[1].data(), bytes), 0);
}

bool equal_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = clone(a);
  const Tensor y = clone(b);
  const auto bytes = static_cast<std::size_t>(x.element_count()) * size_of(x.dtype());
  return x.shape() == y.shape() && std::memcmp(x.data(), y.data(), bytes) == 0;
}

TEST(Networks, CompiledTrainingStepsGiveTheBitsOfEachNodeAlone) {
  Context context({.workers = 2});
  for (Network& network : small_networks(Mode::training)) {
    training(network, Optimiser::adam);
    const std::vector<TensorBinding> bindings = values(network, 2);
    const std::vector<Tensor> expected = evaluate(network.graph, bindings, network.outputs);
    for (const int streams : {1, 2}) {
      Executable step = compile(
          network.graph, {.outputs = network.outputs, .streams = streams, .poison = true}, context);
      if (streams == 1) {
        EXPECT_EQ(step.report().arena_bytes, step.report().lower_bound) << network.graph.name();
      }
      for (int run = 0; run < 2; ++run) {
        step.run(bindings);
        for (std::size_t k = 0; k < expected.size(); ++k)
          EXPECT_TRUE(equal_bits(step.output(network.outputs[k]), expected[k]))
              << network.graph.name() << ", " << network.graph.text(network.outputs[k]);
      }
    }
  }
}

TEST(Networks, ResnetTakesTheMemoryOfItsTrace) {
  Context context;
  const Network resnet50 = resnet(Mode::inference, {});
  const Executable executable = compile(resnet50.graph, {.outputs = resnet50.outputs}, context);
  EXPECT_EQ(executable.report().arena_bytes, 7225344U);  // tests/memory/traces, in place
}

TEST(Networks, ValuesFollowFromTheSeed) {
  const Network network = mlp(Mode::training, 3, {6, 5, 4});
  const auto loss = [&](std::int64_t seed) {
    return evaluate(network.graph, values(network, seed), network.outputs)[0].real_at({});
  };
  EXPECT_EQ(loss(3), loss(3));
  EXPECT_NE(loss(3), loss(4));
}

}  // namespace
}  // namespace mote::networks
