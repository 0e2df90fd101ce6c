// SPDX-License-Identifier: Apache-2.0
// The least cut: element-wise nodes alone are computed again, where that needs fewer bytes and
// hardly more time.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <set>
#include <string>

#include "graphs/compile/numbered.h"
#include "mote/base/kernel.h"
#include "mote/symbolic/checkpoint.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using test::bits;
using test::numbered;

/// Layers exp(h) * sin(h) with h = x w, and the gradient with respect to w.
struct Products {
  SymbolicGraph g{"products"};
  TensorSymbol x = g.input("x", {DType::f32, {32, 32}});
  TensorSymbol w = g.input("w", {DType::f32, {32, 32}});
  TensorSymbol loss;
  TensorSymbol gw;

  explicit Products(int layers) {
    TensorSymbol y = x;
    for (int k = 0; k < layers; ++k) {
      const TensorSymbol h = g.add("matmul", {y, w});
      y = g.add("mul", {g.add("exp", {h}), g.add("sin", {h})});
    }
    loss = y;
    gw = gradient(g, {loss}, {w}).front();
    g.set_outputs({gw});
  }
  std::vector<TensorBinding> bindings() const {
    return {{x, numbered(g, x)}, {w, numbered(g, w, 3)}};
  }
  CheckpointReport cheap(Context* context = nullptr) {
    return checkpoint(g, std::vector{loss},
                      {.policy = CheckpointPolicy::cheap, .context = context});
  }
};

std::size_t bytes_of_plan(const SymbolicGraph& g) {
  Context context;
  return compile(g, {}, context).report().arena_bytes;
}

TEST(CheckpointCheap, RecomputesElementWiseNodesFromWhatIsKept) {
  Products p(8);
  const std::vector<std::byte> expected =
      bits(evaluate(p.g, p.bindings(), std::vector{p.gw}).front());
  const std::size_t before = bytes_of_plan(p.g);
  const CheckpointReport report = p.cheap();
  verify(p.g);
  // The product of each layer but the last is read back as the next one's factor, and each exp and
  // sin for the product; of each layer the result of matmul is kept.
  EXPECT_EQ(report.copies, 3U * 7 + 2);
  EXPECT_EQ(report.most_runs, 2U);
  EXPECT_LT(bytes_of_plan(p.g), before);
  for (const NodeInfo& node : p.g.nodes())
    if (node.recomputed != 0) EXPECT_TRUE(node.command->is_pointwise());
  Context context;
  Executable run = compile(p.g, {.streams = 2, .poison = true}, context);
  run.run(p.bindings());
  EXPECT_EQ(bits(run.output(p.gw)), expected);
}

TEST(CheckpointCheap, LeavesAGraphWhoseMemoryWouldNotShrink) {
  SymbolicGraph g("chain");
  const TensorSymbol x = g.input("x", {DType::f32, {64}});
  TensorSymbol h = x;
  for (int k = 0; k < 50; ++k) h = g.add("tanh", {h});
  g.set_outputs({gradient(g, {h}, {x}).front()});
  const std::string before = to_text(g);
  // All layers follow from x, but they would be there at once.
  const CheckpointReport report =
      checkpoint(g, std::vector{h}, {.policy = CheckpointPolicy::cheap});
  EXPECT_EQ(report.copies, 0U);
  EXPECT_TRUE(report.text.starts_with("cheap: nothing, since 50 nodes more would need "))
      << report.text;
  EXPECT_EQ(to_text(g), before);
}

/// A right kernel of sin for contiguous f32 that takes a millisecond.
mote_status slow_can_run(const mote_call* call) {
  for (const DLTensor* t : {call->inputs[0], static_cast<const DLTensor*>(call->outputs[0])}) {
    if (t->dtype.code != kDLFloat || t->dtype.bits != 32) return MOTE_UNSUPPORTED;
    std::int64_t dense = 1;
    for (int axis = t->ndim; axis-- > 0; dense *= t->shape[axis])
      if (t->strides != nullptr && t->shape[axis] > 1 && t->strides[axis] != dense)
        return MOTE_UNSUPPORTED;
  }
  return MOTE_OK;
}

mote_status slow_run(const mote_call* call, void*) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  const DLTensor& x = *call->inputs[0];
  std::int64_t count = 1;
  for (int axis = 0; axis < x.ndim; ++axis) count *= x.shape[axis];
  for (std::int64_t k = 0; k < count; ++k)
    static_cast<float*>(call->outputs[0]->data)[k] = std::sin(static_cast<const float*>(x.data)[k]);
  while (std::chrono::steady_clock::now() < end) {
  }
  return MOTE_OK;
}

TEST(CheckpointCheap, LeavesAGraphThatWouldRunLonger) {
  static const mote_contract contract = [] {
    mote_contract c{};
    c.size = sizeof(mote_contract);
    c.deterministic = 1;
    c.form = "direct";
    return c;
  }();
  mote_kernel kernel{};
  kernel.size = sizeof(mote_kernel);
  kernel.op = "sin";
  kernel.contract = &contract;
  kernel.can_run = slow_can_run;
  kernel.run = slow_run;
  mote_backend backend{};
  backend.size = sizeof(mote_backend);
  backend.name = "slow";
  backend.version = "1";
  backend.kernel_count = 1;
  backend.kernels = &kernel;
  Context slow({.backends = {&backend}});
  Products measured(8);
  const CheckpointReport report = measured.cheap(&slow);
  EXPECT_EQ(report.copies, 0U);
  EXPECT_TRUE(report.text.starts_with("cheap: nothing, since 23 nodes more took ")) << report.text;
  EXPECT_GT(Products(8).cheap().copies, 0U);
}

}  // namespace
}  // namespace mote
