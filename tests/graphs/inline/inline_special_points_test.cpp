// SPDX-License-Identifier: Apache-2.0
// Gradients of every op where its pieces meet, to second order: at zeros of both signs, at equal
// operands and at the ends of clips, against those of uops.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "graphs/symbolic/gradient_cases.h"
#include "graphs/symbolic/gradient_support.h"
#include "inlined_checks.h"
#include "mote/runtime/command.h"

namespace mote {
namespace {

/// The ends of pieces of all ops in the cases (`threshold=0.5`, hardsigmoid's 2.5, hardswish's 3),
/// and numbers between them.
constexpr double kSpecial[] = {0, -0.0, 0.5, -0.5, 1, -1, 2.5, -2.5, 3, -3, 2, -2};
constexpr int kFillings = 4;

/// A max pool's first maximum takes all (docs/gradients.md), and each gets a share by uops.
bool shares_ties(const GradientCase& of) {
  return of.command.find("max_pool") == std::string::npos;
}

/// Returns special elements: all the same, or drawn.
Tensor special(const AxisList& shape, int filling, std::mt19937& random) {
  Tensor x(DType::f64, shape);
  const Tensor flat = x.reshape({x.element_count()});
  for (std::int64_t k = 0; k < x.element_count(); ++k)
    flat.set({k}, filling < 2 ? kSpecial[4 * filling] : kSpecial[random() % std::size(kSpecial)]);
  return x;
}

InlinedCase case_at(const GradientCase& of, int filling) {
  InlinedCase c;
  std::mt19937 random(static_cast<unsigned>(filling));
  std::vector<TensorSymbol> inputs;
  for (const CaseInput& in : of.inputs) {
    if (in.is_left_out) {
      inputs.emplace_back();
      continue;
    }
    const TensorSymbol x = c.g.input("x" + std::to_string(inputs.size()), {in.dtype, in.shape});
    inputs.push_back(x);
    const bool is_real = in.dtype == DType::f64;
    c.bindings.emplace_back(x, is_real ? special(in.shape, filling, random) : whole_numbers(in));
    if (is_real) c.wrt.push_back(x);
  }
  const NodeSymbol node = c.g.add_node(parse_command(of.command), inputs, DType::f64);
  for (const std::uint32_t output : c.g.info(node).outputs)
    if (output != kNoIndex && c.g.symbols()[output].form->dtype == DType::f64)
      c.of.push_back(c.g.at(output));
  return c;
}

class OpsAtSpecialPoints : public testing::TestWithParam<GradientCase> {};

TEST_P(OpsAtSpecialPoints, HaveTheGradientsOfTheirUops) {
  if (!shares_ties(GetParam())) return;
  for (int filling = 0; filling < kFillings && !HasFatalFailure(); ++filling) {
    SCOPED_TRACE("filling " + std::to_string(filling));
    InlinedCase c = case_at(GetParam(), filling);
    expect_gradients(c, Agreement::where_bounded);
    if (GetParam().order > 1) expect_gradients(c, Agreement::where_bounded);
  }
}

TEST_P(OpsAtSpecialPoints, HaveSymmetricSecondDerivatives) {
  if (GetParam().order < 2) return;
  for (int filling = 0; filling < kFillings; ++filling) {
    SCOPED_TRACE("filling " + std::to_string(filling));
    InlinedCase c = case_at(GetParam(), filling);
    expect_symmetry(c);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpsAtSpecialPoints, testing::ValuesIn(gradient_cases()),
                         [](const auto& info) { return info.param.name(info.index); });

}  // namespace
}  // namespace mote
