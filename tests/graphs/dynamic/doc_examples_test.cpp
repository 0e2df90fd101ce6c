// SPDX-License-Identifier: Apache-2.0
// Compiles the C++ of docs/dynamic.md as a reader would copy it, and looks at its result.
#include <gtest/gtest.h>

#include <vector>

#include "graphs/compile/numbered.h"
#include "mote/dynamic/ops.h"

namespace mote {
namespace {

using test::numbered;

TEST(DynamicDocExamples, TheLossFalls) {
  const Tensor images = numbered(TensorForm(DType::f32, {6, 4}), 1);
  const Tensor weight = numbered(TensorForm(DType::f32, {4, 3}), 2);
  const Tensor bias = numbered(TensorForm(DType::f32, {3}), 3);
  const Tensor labels(DType::i64, {6});
  for (std::int64_t k = 0; k < 6; ++k) labels.set({k}, k % 3);
  std::vector<double> losses;
#include "doc_examples/dynamic_0.inc"
  ASSERT_EQ(losses.size(), 10U);
  for (std::size_t k = 1; k < losses.size(); ++k) EXPECT_LT(losses[k], losses[k - 1]);
}

}  // namespace
}  // namespace mote
