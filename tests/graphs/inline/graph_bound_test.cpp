// SPDX-License-Identifier: Apache-2.0
// Whole graphs in f32 judged by the bound of their program: what kernels compute, what a wrong one
// would, and graphs that cannot be judged.
#include "mote/oracle/graph_bound.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string_view>
#include <tuple>

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

/// A backend of one op: a kernel for bf16 and one for f64, each with its own promise, which write
/// `written`.
struct Promising {
  static inline double written = std::numeric_limits<double>::quiet_NaN();

  Promising(const char* op, mote_contract first, mote_contract second)
      : contracts{first, second},
        kernels{kernel_of(op, contracts[0], 16), kernel_of(op, contracts[1], 64)} {}

  static mote_contract promise(const char* form, mote_accumulator accumulator) {
    mote_contract contract{};
    contract.size = sizeof(mote_contract);
    contract.accumulator = accumulator;
    contract.form = form;
    return contract;
  }
  template <int Bits>
  static mote_status can_run(const mote_call* call) {
    return call->inputs[0]->dtype.bits == Bits ? MOTE_OK : MOTE_UNSUPPORTED;
  }
  static mote_status run(const mote_call* call, void*) {
    *static_cast<double*>(call->outputs[0]->data) = written;
    return MOTE_OK;
  }
  static mote_kernel kernel_of(const char* op, const mote_contract& contract, int bits) {
    mote_kernel kernel{};
    kernel.size = sizeof(mote_kernel);
    kernel.op = op;
    kernel.contract = &contract;
    kernel.can_run = bits == 16 ? &can_run<16> : &can_run<64>;
    kernel.run = run;
    return kernel;
  }

  mote_contract contracts[2];
  mote_kernel kernels[2];
  mote_backend backend = {.size = sizeof(mote_backend),
                          .name = "promising",
                          .version = "1",
                          .kernel_count = 2,
                          .reserved = 0,
                          .kernels = kernels};
};

// The tap outside of x is NaN: times the zero of the padding it is one too, and left out it is not.
// A kernel that promises to multiply it may leave it out.
TEST(GraphBound, IsThatOfTheFormulaThatAKernelPromisesOrOfTheDefinition) {
  SymbolicGraph g("conv");
  const TensorSymbol x = g.input("x", {DType::f64, {1, 1, 1, 1}});
  const TensorSymbol w = g.input("w", {DType::f64, {1, 1, 1, 2}});
  g.set_outputs({g.add("conv2d pads1=1", {x, w})});
  ASSERT_EQ(g.form(g.outputs()[0]).shape, (AxisList{1, 1, 1, 1}));
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Tensor one(DType::f64, {1, 1, 1, 1}), taps(DType::f64, {1, 1, 1, 2});
  fill(one, 1.0);
  taps.set({0, 0, 0, 0}, kNan);
  taps.set({0, 0, 0, 1}, 1.0);
  for (const auto& [form, written, is_right] : {std::tuple("direct", kNan, false),
                                                {"direct", 1.0, true},
                                                {"padding_multiplied", kNan, true},
                                                {"padding_multiplied", 1.0, true},
                                                {"padding_multiplied", 2.0, false}}) {
    SCOPED_TRACE(fmt::format("{} {}", form, written));
    const mote_contract promise = Promising::promise(form, MOTE_ACC_NATIVE);
    const Promising promising("conv2d", promise, promise);
    Context context({.backends = {&promising.backend}});
    const std::vector<TensorBinding> values = {{x, one}, {w, taps}};
    Promising::written = written;
    const std::vector<Tensor> results = evaluate(g, values, g.outputs(), {.context = &context});
    Promising::written = kNan;
    const Judged judged = {judge_by_bound(g, values, results, context)};
    ASSERT_EQ(judged.reason(), "");
    EXPECT_EQ(judged.verdict().failure.has_value(), !is_right);
    const auto found = bounds_of(g, values, context);
    const auto& bounds = std::get<std::vector<OutputBounds>>(found)[0];
    const bool may_be_either = std::string_view(form) == "padding_multiplied";
    EXPECT_EQ(std::isinf(bounds.low[0]) && std::isinf(bounds.high[0]), may_be_either);
  }
}

TEST(GraphBound, IsNotJudgedWhereAccumulatorsHaveNoCommonBound) {
  SymbolicGraph g("sums");
  const TensorSymbol x = g.input("x", {DType::bf16, {3}});
  const TensorSymbol y = g.input("y", {DType::f64, {3}});
  g.set_outputs({g.add("sum axis=0", {x}), g.add("sum axis=0", {y})});
  const Promising promising("sum", Promising::promise("direct", MOTE_ACC_NATIVE),
                            Promising::promise("direct", MOTE_ACC_F32));
  Context context({.backends = {&promising.backend}});
  const Judged judged = {judge_by_bound(g, {}, {}, context)};
  EXPECT_NE(judged.reason().find("its kernel's accumulator and those of other nodes"),
            std::string::npos)
      << judged.reason();
}

TEST(GraphBound, IsNotJudgedBeyondItsLimits) {
  const Judged large = judged(networks::mlp(Mode::inference, 64, {512, 512, 512}));
  EXPECT_NE(large.reason().find("at most 1e+09 are computed"), std::string::npos) << large.reason();
}

}  // namespace
}  // namespace mote
