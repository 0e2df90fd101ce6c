// SPDX-License-Identifier: Apache-2.0
// Tests verdicts on kernels that use another formula than the definition: forms that a contract
// names, and gradients.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "fake_backend.h"
#include "mote/oracle/run.h"

namespace mote {
namespace {

using test::FakeBackend;
using test::floats;

/// Computes gx of a max pool with one window over row-major x of two elements, by maxima that it
/// finds itself.
mote_status pool_gradient_without_y(const mote_call* call) {
  const float* x = floats(call->inputs[1]);
  const float gy = floats(call->inputs[0])[0];
  if (floats(call->inputs[2])[0] != std::max(x[0], x[1])) return MOTE_FAILED;
  floats(call->outputs[0])[0] = x[0] >= x[1] ? gy : 0;
  floats(call->outputs[0])[1] = x[0] >= x[1] ? 0 : gy;
  return MOTE_OK;
}

TEST(RunForms, TheYOfAGradientIsThatOfItsX) {
  const FakeBackend fake("max_pool2d.grad", pool_gradient_without_y);
  for (const char* fill : {"index:0", "integer:1", "uniform:2", "mean:3"}) {
    const Outcome o =
        Prepared(parse_case("max_pool2d.grad gy=f32[1,1,1,1] x=f32[1,1,2,1] y=f32[1,1,1,1] "
                            "kernel=2,1 fill=" +
                            std::string(fill)))
            .run(fake.get());
    EXPECT_EQ(o.verdict, Verdict::passed) << fill << ": " << o.reason;
  }
}

/// Computes sigmoid(x) = 1/2 + tanh(x/2)/2 of row-major f32[1,1,1,n].
mote_status sigmoid_by_tanh(const mote_call* call) {
  const DLTensor* x = call->inputs[0];
  for (std::int64_t k = 0; k < x->shape[3]; ++k)
    floats(call->outputs[0])[k] = 0.5F + 0.5F * std::tanh(0.5F * floats(x)[k]);
  return MOTE_OK;
}

Outcome run_sigmoid(const char* form, const std::string& text) {
  const FakeBackend fake("sigmoid", sigmoid_by_tanh, true, form);
  return Prepared(parse_case(text)).run(fake.get());
}

TEST(RunForms, AKernelIsJudgedByTheFormThatItsContractNames) {
  const std::string text = "sigmoid x=f32[1,1,1,500] fill=extreme:1";
  EXPECT_EQ(run_sigmoid("tanh", text).verdict, Verdict::passed);
  EXPECT_EQ(run_sigmoid("direct", text).verdict, Verdict::failed);
}

TEST(RunForms, AFormThatTheOpDoesNotHaveFails) {
  const Outcome o = run_sigmoid("winograd_f2", "sigmoid x=f32[1,1,1,5]");
  EXPECT_EQ(o.verdict, Verdict::failed);
  EXPECT_EQ(
      o.reason,
      "its contract's form: op sigmoid: unknown form 'winograd_f2' (known: direct, tanh, of_exp)");
}

/// conv2d.mote is the catalogue's program, so that it has the op's forms.
TEST(RunForms, AProgramFileHasTheFormsOfTheSameOpInTheCatalogue) {
  const std::string text =
      MOTE_EXAMPLES_FOLDER "/conv2d.mote x=f32[1,1,9,9] w=f32[1,1,3,3] b=f32[1]";
  const auto nothing = [](const mote_call*) { return MOTE_OK; };
  const FakeBackend padded("conv2d", nothing, true, "padding_multiplied");
  const Outcome o = Prepared(parse_case(text)).run(padded.get());
  EXPECT_EQ(o.verdict, Verdict::unwritten) << o.reason;  // the kernel ran
  const FakeBackend other("conv2d", nothing, true, "winograd_f3");
  EXPECT_EQ(Prepared(parse_case(text)).run(other.get()).verdict, Verdict::failed);
}

/// A backend's contract says nothing about another program under an op's name.
TEST(RunForms, AProgramFileOfItsOwnIsNotForKernelsOfAnotherForm) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "_sigmoid.mote";
  std::ofstream(path) << "op sigmoid \"y = x\"\ninput x f32[I, J, K, L]\noutput y = x + 0\n";
  const Outcome o = run_sigmoid("tanh", path + " x=f32[1,1,1,5]");
  EXPECT_EQ(o.verdict, Verdict::declined);
  EXPECT_NE(o.reason.find("a program file has no other"), std::string::npos) << o.reason;
}

/// For an infinite first tap next to x, the form gives NaN and the definition adds no term. A
/// result one unit in the last place greater is within the form's bound.
TEST(RunForms, AKernelOfAnotherFormMayComputeSomeElementsByTheDefinition) {
  const auto verdict_of = [](float (*first)(double)) {
    const auto convolve = [first](const mote_call* call) {
      const auto* x = static_cast<const float*>(call->inputs[0]->data);
      const auto* w = static_cast<const float*>(call->inputs[1]->data);
      auto* y = static_cast<float*>(call->outputs[0]->data);
      y[0] = first(double{x[0]} * w[1] + double{x[1]} * w[2]);
      y[1] = x[0] * w[0] + x[1] * w[1] + x[2] * w[2];
      y[2] = x[1] * w[0] + x[2] * w[1];
      return MOTE_OK;
    };
    const FakeBackend fake("conv1d", convolve, true, "padding_multiplied");
    return Prepared(parse_case("conv1d x=f32[1,1,3] w=f32[1,1,3] pads=1,1 fill=uniform:1 "
                               "set=w[0,0,0]=inf"))
        .run(fake.get())
        .verdict;
  };
  const auto up = [](double y) {
    return std::nextafter(static_cast<float>(y), std::numeric_limits<float>::infinity());
  };
  EXPECT_EQ(verdict_of(up), Verdict::passed);
  EXPECT_EQ(verdict_of([](double) { return std::nanf(""); }), Verdict::passed);
  EXPECT_EQ(verdict_of([](double y) { return static_cast<float>(y) + 1; }), Verdict::failed);
}

/// At +inf the definition's s*(1 + x*(1 - s)) of silu's derivative makes NaN of inf*0, but the
/// limit is 1. A NaN in x stays NaN in any formula.
TEST(RunForms, AGradientsFormulaMayDifferAtInfinitiesNotAtNan) {
  const auto verdict_of = [](float (*slope)(float), const std::string& value) {
    const auto silu_gradient = [slope](const mote_call* call) {
      for (std::int64_t k = 0; k < call->inputs[1]->shape[3]; ++k)
        floats(call->outputs[0])[k] =
            floats(call->inputs[0])[k] * slope(floats(call->inputs[1])[k]);
      return MOTE_OK;
    };
    const FakeBackend fake("silu.grad", silu_gradient);
    return Prepared(parse_case("silu.grad gy=f32[1,1,1,40] x=f32[1,1,1,40] fill=uniform:1 "
                               "set=x[0,0,0,4]=" +
                               value))
        .run(fake.get())
        .verdict;
  };
  const auto limited = [](float x) {
    const float s = 1 / (1 + std::exp(-x));
    return x > 80 ? 1 : s * (1 + x * (1 - s));
  };
  EXPECT_EQ(verdict_of(limited, "inf"), Verdict::passed);
  EXPECT_EQ(verdict_of(limited, "nan"), Verdict::passed);
  const auto dropped = [](float x) {
    const float s = 1 / (1 + std::exp(-x));
    return x <= 80 ? s * (1 + x * (1 - s)) : 1;
  };
  EXPECT_EQ(verdict_of(dropped, "inf"), Verdict::passed);
  EXPECT_EQ(verdict_of(dropped, "nan"), Verdict::failed);
}

/// The derivative of an empty sum is 0; the definition's is 0·(1/0).
TEST(RunForms, AGradientOfAnEmptySumMayBeZero) {
  const auto zeros = [](const mote_call* call) {
    for (const std::size_t of_rows : {0U, 2U})  // the gradient of ggx has no element
      std::fill_n(floats(call->outputs[of_rows]), call->outputs[of_rows]->shape[0], 0.0F);
    return MOTE_OK;
  };
  const FakeBackend fake("norm2.grad.grad", zeros);
  const Outcome o =
      Prepared(parse_case("norm2.grad.grad ggx=f32[7,0,1] gy=f32[7,1] x=f32[7,0,1] y=f32[7,1]"))
          .run(fake.get());
  EXPECT_FALSE(is_failure(o.verdict)) << o.reason;
}

TEST(RunForms, AFormThatDoesNotHoldForTheCaseFails) {
  const auto nothing = [](const mote_call*) { return MOTE_OK; };
  const FakeBackend fake("conv2d", nothing, true, "winograd_f2");
  const Outcome o = Prepared(parse_case("conv2d x=f32[1,1,9,9] w=f32[1,1,5,5]")).run(fake.get());
  EXPECT_EQ(o.verdict, Verdict::failed);
  EXPECT_NE(o.reason.find("conv2d.winograd_f2"), std::string::npos) << o.reason;
}

}  // namespace
}  // namespace mote
