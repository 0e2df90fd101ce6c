// SPDX-License-Identifier: Apache-2.0
// Tests requests for parts of a gradient: needed inputs, given outputs, names, text, errors, order.
#include <gtest/gtest.h>

#include "caught.h"
#include "gradient_check.h"
#include "gradient_programs.h"
#include "mote/uops/gradient.h"

namespace mote {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(Gradient, NeedsOnlyWhatItReads) {
  const Program p = with_body(std::string(kXW) + "tanh(x)*w");
  const Gradient both = gradient(p);
  EXPECT_EQ(both.inputs, (std::vector{Need::value, Need::value}));
  EXPECT_EQ(both.gradients, (std::vector{Need::value}));
  const Gradient w =
      gradient(p, {.wrt = {"w"}, .from = {}, .inputs = {{"x"}}, .outputs = {}, .name = "g"});
  EXPECT_EQ(w.inputs, (std::vector{Need::value, Need::none}));
  EXPECT_EQ(to_string(w.program),
            "op g\ninput gy f64[N]\ninput x f64[N]\noutput gw = gy*tanh(x)\n");
}

TEST(Gradient, TakesShapesFromInputsThatItDoesNotRead) {
  const std::string text = "input x f64[N]\noutput y = x[2*i0 over N/2]";
  const Gradient g = gradient(with_body(text));
  EXPECT_EQ(g.inputs, std::vector{Need::shape});
  EXPECT_EQ(evaluate(g.program, {f64({2}, {3, 4}), f64({5}, {0, 0, 0, 0, 0})}, {}).at(0),
            f64({5}, {3, 0, 4, 0, 0}));
  EXPECT_EQ(gradient(with_body(std::string(kX) + "x*2")).inputs, std::vector{Need::none});
}

TEST(Gradient, KnowsSizesAsWellAsTheProgram) {
  // C follows from v even if A is 0.
  const Gradient g = gradient(
      with_body(
          "input v f64[C]\ninput w f64[A, A*C]\noutput y = sum[1](w*w)\noutput z = sum[0](v)"),
      {.wrt = {"w"}, .from = {}, .inputs = {}, .outputs = {}, .name = {}});
  EXPECT_EQ(g.inputs, (std::vector{Need::shape, Need::value}));
  EXPECT_EQ(evaluate(g.program, {f64({0}, {}), f64({3}, {0, 0, 0}), f64({0, 0}, {})}, {}).at(0),
            f64({0, 0}, {}));
}

TEST(Gradient, ReadsOutputsThatAreGiven) {
  const Program p = with_body(std::string(kX) + "tanh(x)");
  const Gradient g =
      gradient(p, {.wrt = {}, .from = {}, .inputs = {}, .outputs = {"y"}, .name = {}});
  EXPECT_EQ(g.inputs, std::vector{Need::none});
  EXPECT_EQ(g.outputs, std::vector{Need::value});
  EXPECT_EQ(to_string(g.program),
            "op p.grad\ninput gy f64[N]\ninput y f64[N]\noutput gx = gy*(1 - y*y)\n");
  // A maximum rounded from double to f32 is not among the elements any more; a maximum of f32
  // values is.
  const auto maximum = [](const std::string& of) {
    return gradient(with_body("input x f32[N]\noutput y = max[0](" + of + ")"),
                    {.wrt = {}, .from = {}, .inputs = {}, .outputs = {"y"}, .name = {}})
        .outputs[0];
  };
  EXPECT_EQ(maximum("exp(x)"), Need::none);
  EXPECT_EQ(maximum("x"), Need::value);
}

TEST(Gradient, OfSeveralOutputsSums) {
  const std::string text =
      "input x f64[N]\noutput y = x*x\noutput z = 3*x\noutput n = argmax[0](x)";
  const Program p = with_body(text);
  EXPECT_EQ(evaluate(gradient(p).program, {f64({1}, {1}), f64({1}, {10}), f64({1}, {5})}, {}).at(0),
            f64({1}, {40}));
  const Gradient z =
      gradient(p, {.wrt = {}, .from = {"z"}, .inputs = {}, .outputs = {}, .name = {}});
  EXPECT_EQ(z.gradients, (std::vector{Need::none, Need::value, Need::none}));
  EXPECT_EQ(evaluate(z.program, {f64({1}, {10})}, {}).at(0), f64({1}, {30}));
}

TEST(Gradient, IsZeroWhereNothingFlows) {
  const std::string text = "input x f64[N]\ninput w f64[M]\noutput y = x";
  const Gradient g = gradient(with_body(text));
  EXPECT_EQ(g.inputs, (std::vector{Need::none, Need::shape}));
  EXPECT_EQ(evaluate(g.program, {f64({1}, {7}), f64({2}, {1, 2})}, {}),
            (Arrays{f64({1}, {7}), f64({2}, {0, 0})}));
}

TEST(Gradient, OfRepeatingAxesIsFull) {
  const std::string text = "input x f64[N]\ninput b f64[1|N]\noutput y = x*b";
  EXPECT_EQ(gradients(text, {f64({2}, {1, 10}), f64({2}, {3, 4}), f64({1}, {5})}),
            (Arrays{f64({2}, {5, 50}), f64({2}, {3, 40})}));
}

TEST(Gradient, NamesThatAreTaken) {
  const std::string text = "input e f64[N]\ninput gy f64[N]\noutput y1 = e*gy\noutput y = e";
  const Gradient g = gradient(with_body(text));
  EXPECT_EQ(to_string(g.program),
            "op p.grad\ninput gy1_ f64[N]\ninput gy_ f64[N]\ninput e f64[N]\ninput gy f64[N]\n"
            "output ge_ = gy_ + gy1_*gy\noutput ggy = gy1_*e\n");
}

TEST(Gradient, SaysWhatDoesNotFit) {
  const Program p = with_body("input x f32[N]\ninput n i64[N]\noutput y = x*x\noutput m = n");
  const auto refused = [&](const GradientRequest& r) { return error_of([&] { gradient(p, r); }); };
  EXPECT_EQ(refused({.wrt = {"n"}, .from = {}, .inputs = {}, .outputs = {}, .name = {}}),
            "p.grad: input n is i64[N], which has no gradient");
  EXPECT_EQ(refused({.wrt = {"q"}, .from = {}, .inputs = {}, .outputs = {}, .name = {}}),
            "p.grad: there is no input q (known: x, n)");
  EXPECT_EQ(refused({.wrt = {"x", "x"}, .from = {}, .inputs = {}, .outputs = {}, .name = {}}),
            "p.grad: input x is given twice");
  EXPECT_EQ(refused({.wrt = {}, .from = {"m"}, .inputs = {}, .outputs = {}, .name = {}}),
            "p.grad: output m is i64[N], which has no gradient");
  EXPECT_EQ(refused({.wrt = {}, .from = {}, .inputs = {{"n"}}, .outputs = {}, .name = {}}),
            "p.grad: needs the value of input x, which is not given");
  EXPECT_EQ(error_of([&] { gradient(with_body("input n i64[N]\noutput y = n")); }),
            "p.grad: no input is real, so that there is no gradient");
}

TEST(Gradient, OrderThreeOfAChain) {
  int judged = 0;
  const Program p = with_body(std::string(kXW) + "tanh(x*w)*exp(-(x*x)) + sin(x)/(w*w + 1)");
  const Arrays data = {random_array(DType::f64, {5}, 1), random_array(DType::f64, {5}, 2)};
  EXPECT_EQ(check_gradient({p, data, {}}, 3, 1, &judged), "");
  EXPECT_EQ(judged, 6);
}

TEST(Gradient, DeepProgramsAreRefusedNotCrashed) {
  Uop y = input("x", DType::f64, {"N"});
  const Uop x = y;
  for (int k = 0; k < kMaxDepth - 1; ++k) y = map(MapOp::sin, std::vector<Uop>{y});
  ProgramSpec spec;
  spec.name = "deep";
  spec.inputs = {x};
  spec.outputs = {{"y", y}};
  const Program p = make_program(std::move(spec));
  EXPECT_NE(error_of([&] { gradient(p); }).find("a chain of 1001 nodes, more than 1000"),
            std::string::npos);
}

}  // namespace
}  // namespace mote
