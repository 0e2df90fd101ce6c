// SPDX-License-Identifier: Apache-2.0
// Small networks in f32: what their kernels compute, one by one, lies in the bound of the program
// of the whole network, with the gradient of a training step too.
#include <gtest/gtest.h>

#include "inlined_checks.h"
#include "networks.h"

namespace mote {
namespace {

using networks::Mode;
using networks::Network;

InlinedCase case_of(Network network, bool with_gradients) {
  if (with_gradients) networks::training(network);
  const std::vector<TensorBinding> values = networks::values(network, 1);
  InlinedCase c;
  // A copy has handles of its own, with equal indices.
  c.g = network.graph;
  for (const auto& [symbol, tensor] : values) c.bindings.emplace_back(c.g.at(symbol.index), tensor);
  c.of = c.g.outputs();
  return c;
}

TEST(InlinedNetworks, OfLinearLayersAreWithinTheirBound) {
  expect_values(case_of(networks::mlp(Mode::inference, 3, {5, 4, 3}), false), Agreement::bounded);
  expect_values(case_of(networks::mlp(Mode::training, 3, {5, 4, 3}), true), Agreement::bounded);
}

TEST(InlinedNetworks, OfConvolutionsAreWithinTheirBound) {
  const networks::Images images{.batch = 2, .size = 8, .classes = 3};
  expect_values(case_of(networks::cnn(Mode::inference, images, 2), false), Agreement::bounded);
}

TEST(InlinedNetworks, OfAResidualBlockAreWithinTheirBound) {
  const networks::Images images{.batch = 2, .size = 4, .classes = 3};
  expect_values(case_of(networks::residual_block(Mode::inference, images, 2), false),
                Agreement::bounded);
}

TEST(InlinedNetworks, OfRecurrentCellsAreWithinTheirBound) {
  const networks::Recurrent sizes{.steps = 3, .batch = 2, .features = 3, .hidden = 2, .classes = 3};
  expect_values(case_of(networks::lstm(Mode::inference, sizes), false), Agreement::bounded);
}

}  // namespace
}  // namespace mote
