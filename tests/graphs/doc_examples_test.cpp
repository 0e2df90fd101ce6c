// SPDX-License-Identifier: Apache-2.0
// Compiles the C++ of docs/graphs.md and README.md as a reader would copy it
// (doc_examples/graphs_<k>.inc, README_<k>.inc), and compares its results with the nodes run one by
// one.
#include <gtest/gtest.h>

#include <vector>

#include "mote/runtime/command.h"
#include "mote/runtime/context.h"
#include "mote/runtime/tensor.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

/// The inputs of a layer of `features` to `classes` over `count` points.
struct Layer {
  Layer(std::int64_t count, std::int64_t features, std::int64_t classes)
      : images(DType::f32, {count, features}),
        labels(DType::i64, {count}),
        weight(DType::f32, {features, classes}),
        bias(DType::f32, {classes}) {
    for (std::int64_t k = 0; k < count; ++k) {
      labels.set({k}, k % classes);
      for (std::int64_t j = 0; j < features; ++j)
        images.set({k, j}, static_cast<double>((7 * k + 3 * j) % 11) / 8 - 0.5);
    }
    for (std::int64_t j = 0; j < classes; ++j) {
      bias.set({j}, static_cast<double>(j) / 16);
      for (std::int64_t k = 0; k < features; ++k)
        weight.set({k, j}, static_cast<double>((5 * k + 2 * j) % 13) / 64);
    }
  }
  Tensor images, labels, weight, bias;
};

void expect_same(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  const Tensor a = clone(got).reshape({got.element_count()});
  const Tensor b = clone(expected).reshape({got.element_count()});
  for (std::int64_t k = 0; k < got.element_count(); ++k)
    ASSERT_EQ(a.real_at({k}), b.real_at({k})) << "element " << k;
}

TEST(GraphDocExamples, ANetworkItsGradientAndARun) {
  const Layer layer(4, 3, 5);
  const auto& [images, labels, weight, bias] = layer;
#include "doc_examples/graphs_0.inc"
  const std::vector<Tensor> expected =
      evaluate(g, {{x, images}, {t, labels}, {w, weight}, {b, bias}}, {loss, grads[0], grads[1]});
  EXPECT_EQ(value, expected[0].real_at({}));
  EXPECT_GT(value, 0);
  expect_same(step.output(grads[0]), expected[1]);
  expect_same(step.output(grads[1]), expected[2]);
}

TEST(GraphDocExamples, TheReadmesFirstRun) {
#include "doc_examples/README_0.inc"
  EXPECT_EQ(y.real_at({0, 0, 0, 0}), 1.0F / 3);
}

TEST(GraphDocExamples, TheReadmesNetwork) {
  const Layer layer(32, 784, 10);
  const auto& [images, labels, weight, bias] = layer;
#include "doc_examples/README_1.inc"
  const std::vector<Tensor> expected =
      evaluate(g, {{x, images}, {t, labels}, {w, weight}, {b, bias}}, {loss, grads[0], grads[1]});
  expect_same(step.output(loss), expected[0]);
  expect_same(step.output(grads[0]), expected[1]);
  expect_same(step.output(grads[1]), expected[2]);
}

}  // namespace
}  // namespace mote
