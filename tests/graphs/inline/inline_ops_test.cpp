// SPDX-License-Identifier: Apache-2.0
// A graph of one op, for every op that has a gradient in f64: the program of the graph, and its
// gradient by uops against the gradient of the graph.
#include <gtest/gtest.h>

#include "graphs/symbolic/gradient_cases.h"
#include "graphs/symbolic/gradient_support.h"
#include "inlined_checks.h"
#include "mote/runtime/command.h"

namespace mote {
namespace {

InlinedCase case_of(const GradientCase& of) {
  InlinedCase c;
  std::vector<TensorSymbol> inputs;
  int number = 0;
  for (const CaseInput& in : of.inputs) {
    if (in.is_left_out) {
      inputs.emplace_back();
      continue;
    }
    const TensorSymbol x = c.g.input("x" + std::to_string(number++), {in.dtype, in.shape});
    inputs.push_back(x);
    c.bindings.emplace_back(x, in.dtype == DType::f64
                                   ? counted(in.shape, in.lowest, in.highest, number)
                                   : whole_numbers(in));
    if (is_real(in.dtype)) c.wrt.push_back(x);
  }
  const NodeSymbol node = c.g.add_node(parse_command(of.command), inputs, DType::f64);
  for (const std::uint32_t output : c.g.info(node).outputs)
    if (output != kNoIndex && c.g.symbols()[output].form->dtype == DType::f64)
      c.of.push_back(c.g.at(output));
  return c;
}

class InlinedOps : public testing::TestWithParam<GradientCase> {};

TEST_P(InlinedOps, ComputeWhatTheirKernelsCompute) {
  expect_values(case_of(GetParam()), Agreement::bounded);
}

TEST_P(InlinedOps, HaveTheGradientOfTheirUops) {
  InlinedCase c = case_of(GetParam());
  expect_gradients(c, Agreement::bounded);
  for (int order = 2; order <= GetParam().order && !HasFatalFailure(); ++order) {
    SCOPED_TRACE("order " + std::to_string(order));
    expect_gradients(c, Agreement::bounded);
  }
}

TEST_P(InlinedOps, HaveAForwardModeThatAgreesWithReverseMode) {
  InlinedCase c = case_of(GetParam());
  expect_forward_mode(c);
}

TEST(InlinedForwardMode, IsComparedForMostOps) {
  std::size_t compared = 0;
  std::size_t possible = 0;
  for (const GradientCase& of : gradient_cases()) {
    InlinedCase c = case_of(of);
    ++possible;
    if (expect_forward_mode(c)) ++compared;
  }
  EXPECT_GT(2 * compared, possible) << compared << " of " << possible;
}

INSTANTIATE_TEST_SUITE_P(Ops, InlinedOps, testing::ValuesIn(gradient_cases()),
                         [](const auto& info) { return info.param.name(info.index); });

}  // namespace
}  // namespace mote
