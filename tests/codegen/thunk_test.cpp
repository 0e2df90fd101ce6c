// SPDX-License-Identifier: Apache-2.0
// Tests thunks: the messages of a kernel for calls that are not legal, and that it runs legal ones.
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "call.h"
#include "thunk_of.h"

namespace mote {
namespace {

using test::Call;
using test::conv;
using test::Tensor;
using test::ThunkOf;

TEST(Thunk, RunsALegalCall) {
  Tensor x(DType::f32, {1, 2, 5});
  Tensor w(DType::f32, {2, 1, 3});
  Tensor y(DType::f32, {1, 2, 2}, {40, 3, 7}, -9);
  x.fill_integers(1);
  w.fill_integers(2);
  Call call("conv", {&x, &w}, {&y});
  call.integer("stride", 2).integer("groups", 2).real("scale", 0.5);
  ASSERT_EQ(call.can_run(conv().kernel()), MOTE_OK) << call.message();
  ASSERT_EQ(call.run(conv().kernel()), MOTE_OK) << call.message();
  for (std::int64_t c = 0; c < 2; ++c)
    for (std::int64_t o = 0; o < 2; ++o) {
      double sum = 0;
      for (std::int64_t k = 0; k < 3; ++k) sum += x.get({0, c, 2 * o + k}) * w.get({c, 0, k});
      EXPECT_EQ(y.get({0, c, o}), sum / 2);
    }
  EXPECT_EQ(y.changed_gaps(-9), 0);
}

TEST(Thunk, SaysWhichExtentIsWrong) {
  Tensor x(DType::f32, {1, 5, 4});
  Tensor w(DType::f32, {2, 3, 3});
  Tensor y(DType::f32, {1, 2, 2});
  Call groups("conv", {&x, &w}, {&y});
  groups.integer("groups", 2).real("scale", 1);
  EXPECT_EQ(conv().refusal(groups),
            "conv: axis 1 of x must be CG*groups, a multiple of 2, got 5 (x f32[1,5,4], w "
            "f32[2,3,3])");
  Tensor x6(DType::f32, {1, 6, 4});
  Tensor w2(DType::f32, {2, 2, 3});
  Call channels("conv", {&x6, &w2}, {&y});
  channels.integer("groups", 2).real("scale", 1);
  EXPECT_EQ(conv().refusal(channels),
            "conv: axis 1 of w must be CG = 3, got 2 (x f32[1,6,4], w f32[2,2,3])");
  Call output("conv", {&x6, &w}, {&x});
  output.integer("groups", 2).real("scale", 1);
  EXPECT_EQ(conv().refusal(output),
            "conv: axis 1 of y must be CO*groups = 2, got 5 (x f32[1,6,4], w f32[2,3,3])");
}

TEST(Thunk, RefusesASizeThatWouldBeNegative) {
  Tensor x(DType::f32, {1, 1, 2});
  Tensor w(DType::f32, {1, 1, 7});
  Tensor y(DType::f32, {1, 1, 0});
  Call call("conv", {&x, &w}, {&y});
  call.real("scale", 1);
  EXPECT_EQ(conv().refusal(call),
            "conv: OW must be at least 0, got -4 (x f32[1,1,2], w f32[1,1,7])");
}

TEST(Thunk, ChecksParameters) {
  Tensor x(DType::f32, {1, 1, 4});
  Tensor w(DType::f32, {1, 1, 3});
  Tensor y(DType::f32, {1, 1, 2});
  const std::string shapes = " (x f32[1,1,4], w f32[1,1,3])";
  Call missing("conv", {&x, &w}, {&y});
  EXPECT_EQ(conv().refusal(missing), "conv: parameter scale is missing" + shapes);
  Call zero("conv", {&x, &w}, {&y});
  zero.real("scale", 1).integer("stride", 0);
  EXPECT_EQ(conv().refusal(zero),
            "conv: parameter stride must be in 1..2147483647, got 0" + shapes);
  Call huge("conv", {&x, &w}, {&y});
  huge.real("scale", 1).integer("stride", std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(conv().refusal(huge),
            "conv: parameter stride must be in 1..2147483647, got 9223372036854775807" + shapes);
  Call real("conv", {&x, &w}, {&y});
  real.real("scale", 1).real("stride", 1.5);
  EXPECT_EQ(conv().refusal(real), "conv: parameter stride must be an integer, got 1.5" + shapes);
  Call unknown("conv", {&x, &w}, {&y});
  unknown.real("scale", 1).integer("strides", 1);
  EXPECT_EQ(conv().refusal(unknown),
            "conv: unknown parameter strides" + shapes + "; known: stride, groups, scale");
  Call integer("conv", {&x, &w}, {&y});
  EXPECT_EQ(integer.integer("scale", 2).can_run(conv().kernel()), MOTE_OK) << integer.message();
}

TEST(Thunk, ChecksCountsRanksAndTypes) {
  Tensor x(DType::f32, {1, 1, 4});
  Tensor w(DType::f32, {1, 1, 3});
  Tensor y(DType::f32, {1, 1, 2});
  Tensor wide(DType::f64, {1, 1, 4});
  Tensor flat(DType::f32, {1, 4});
  Call one("conv", {&x}, {&y});
  one.real("scale", 1);
  EXPECT_EQ(conv().refusal(one), "conv: w is missing (x f32[1,1,4])");
  Call null("conv", {&x, nullptr}, {&y});
  null.real("scale", 1);
  EXPECT_EQ(conv().refusal(null), "conv: w is missing (x f32[1,1,4])");
  Call three("conv", {&x, &w, &w}, {&y});
  EXPECT_EQ(conv().refusal(three), "conv: takes 2 inputs, got 3 (x f32[1,1,4], w f32[1,1,3])");
  Call none("conv", {&x, &w}, {});
  EXPECT_EQ(conv().refusal(none), "conv: has 1 outputs, got 0 (x f32[1,1,4], w f32[1,1,3])");
  Call type("conv", {&wide, &w}, {&y});
  EXPECT_EQ(conv().refusal(type), "conv: x must be f32, got f64 (x f64[1,1,4], w f32[1,1,3])");
  Call rank("conv", {&flat, &w}, {&y});
  EXPECT_EQ(conv().refusal(rank), "conv: x must have 3 axes, got 2 (x f32[1,4], w f32[1,1,3])");
}

TEST(Thunk, NeedsNoDataOfWhatItReadsTheShapeOfAlone) {
  const ThunkOf thunk("op spread\ninput g f32[R]\ninput x f32[R, N]\noutput y = g[i0 over R, N]\n");
  Tensor g(DType::f32, {2});
  Tensor x(DType::f32, {2, 3});
  Tensor y(DType::f32, {2, 3});
  g.fill_integers(1);
  Call whole("spread", {&g, &x}, {&y});
  mote_call call = whole.get();
  DLTensor shape = *call.inputs[1];
  shape.data = nullptr;
  const std::array<const DLTensor*, 2> inputs = {call.inputs[0], &shape};
  call.inputs = inputs.data();
  ASSERT_EQ(thunk.kernel().run(&call, nullptr), MOTE_OK) << whole.message();
  EXPECT_EQ(y.get({1, 2}), g.get({1}));
  std::array<std::int64_t, 2> other = {3, 3};
  shape.shape = other.data();
  EXPECT_EQ(thunk.kernel().run(&call, nullptr), MOTE_INVALID);
  EXPECT_EQ(whole.message(), "spread: axis 0 of x must be R = 2, got 3 (g f32[2], x f32[3,3])");
}

/// p and q share their loops; only p reads a.
TEST(Thunk, ComputesTheOutputsThatAreAskedFor) {
  EmitOptions options;
  options.optional_outputs = {"p", "q"};
  const ThunkOf thunk(
      "op two\ninput a f32[N, M]\ninput b f32[N, M]\ns = sum[1](a * b)\nr = sum[1](exp(b))\n"
      "output p = s / r\noutput q = r + 1\n",
      options);
  Tensor a(DType::f32, {2, 3}), b(DType::f32, {2, 3});
  Tensor p(DType::f32, {2}), q(DType::f32, {2});
  a.fill_integers(1);
  b.fill_integers(2);
  Call whole("two", {&a, &b}, {&p, &q});
  ASSERT_EQ(whole.run(thunk.kernel()), MOTE_OK) << whole.message();
  const double p1 = p.get({1}), q1 = q.get({1});
  for (const int wanted : {0, 1}) {
    p = Tensor(DType::f32, {2});
    q = Tensor(DType::f32, {2});
    Call some("two", {&a, &b}, {&p, &q});
    mote_call call = some.get();
    std::array<DLTensor*, 2> outputs = {wanted == 0 ? call.outputs[0] : nullptr,
                                        wanted == 1 ? call.outputs[1] : nullptr};
    call.outputs = outputs.data();
    DLTensor without = *call.inputs[0];
    without.data = nullptr;
    const std::array<const DLTensor*, 2> inputs = {wanted == 0 ? call.inputs[0] : &without,
                                                   call.inputs[1]};
    call.inputs = inputs.data();
    for (auto* const run : {thunk.kernel().run, thunk.kernel().run_checked}) {
      p.set({1}, -9);
      q.set({1}, -9);
      ASSERT_EQ(run(&call, nullptr), MOTE_OK) << some.message();
      EXPECT_EQ(wanted == 0 ? p.get({1}) : q.get({1}), wanted == 0 ? p1 : q1);
    }
    const std::array<const DLTensor*, 2> neither = {&without, call.inputs[1]};
    call.inputs = neither.data();
    EXPECT_EQ(thunk.kernel().run(&call, nullptr), wanted == 0 ? MOTE_INVALID : MOTE_OK);
    outputs = {nullptr, nullptr};
    EXPECT_EQ(thunk.kernel().can_run(&call), MOTE_INVALID);
    EXPECT_EQ(some.message(), "two: no output is asked for (a f32[2,3], b f32[2,3])");
  }
}

TEST(Thunk, RefusesDataThatIsNotThere) {
  Tensor x(DType::f32, {1, 1, 4});
  Tensor w(DType::f32, {1, 1, 3});
  Tensor y(DType::f32, {1, 1, 2});
  Call whole("conv", {&x, &w}, {&y});
  mote_call call = whole.real("scale", 1).get();
  DLTensor copy = *call.inputs[0];
  const std::array<const DLTensor*, 2> inputs = {&copy, call.inputs[1]};
  call.inputs = inputs.data();
  copy.data = nullptr;
  EXPECT_EQ(conv().kernel().can_run(&call), MOTE_OK);
  EXPECT_EQ(conv().kernel().run(&call, nullptr), MOTE_INVALID);
  EXPECT_EQ(whole.message(), "conv: x has no data (x f32[1,1,4], w f32[1,1,3])");
  copy = *Call("conv", {&x}, {}).get().inputs[0];
  copy.data = x.data();
  copy.byte_offset = 2;
  EXPECT_EQ(conv().kernel().run(&call, nullptr), MOTE_INVALID);
  EXPECT_EQ(conv().kernel().can_run(&call), MOTE_INVALID);
  EXPECT_EQ(whole.message(), "conv: x is not aligned to its elements (x f32[1,1,4], w f32[1,1,3])");
  copy.device.device_type = kDLCUDA;
  EXPECT_EQ(conv().kernel().can_run(&call), MOTE_UNSUPPORTED);
  EXPECT_EQ(whole.message(), "conv: x is not in the host's memory (x f32[1,1,4], w f32[1,1,3])");
}

TEST(Thunk, AMessageIsCutToItsRoomAndMayBeAbsent) {
  Tensor x(DType::f32, {1, 1, 4});
  Call whole("conv", {&x}, {&x});
  mote_call call = whole.get();
  std::array<char, 16> text{};
  text.fill('#');
  call.message = text.data();
  call.message_bytes = 10;
  EXPECT_EQ(conv().kernel().can_run(&call), MOTE_INVALID);
  EXPECT_EQ(std::string(text.data()), "conv: w i");
  EXPECT_EQ(text[10], '#');
  call.message = nullptr;
  EXPECT_EQ(conv().kernel().can_run(&call), MOTE_INVALID);
  call.size = sizeof(mote_call) - 8;
  EXPECT_EQ(conv().kernel().can_run(&call), MOTE_INVALID);
}

TEST(Thunk, BroadcastsMissingAndUnitAxes) {
  const ThunkOf thunk("op add\ninput a i32[1|M, 1|N]\ninput b i32[1|M, 1|N]\noutput y = a + b\n");
  const ThunkOf real("op add\ninput a f64[1|M, 1|N]\ninput b f64[1|M, 1|N]\noutput y = a + b\n");
  Tensor row(DType::f64, {3});
  Tensor column(DType::f64, {2, 1}, {5, 1});
  Tensor y(DType::f64, {2, 3});
  row.fill_integers(1);
  column.fill_integers(2);
  Call call("add", {&row, &column}, {&y});
  ASSERT_EQ(call.run(real.kernel()), MOTE_OK) << call.message();
  for (std::int64_t m = 0; m < 2; ++m)
    for (std::int64_t n = 0; n < 3; ++n)
      EXPECT_EQ(y.get({m, n}), row.get({n}) + column.get({m, 0}));
  Tensor row4(DType::f64, {4});
  Tensor wide(DType::f64, {2, 3});
  Call wrong("add", {&row4, &wide}, {&y});
  EXPECT_EQ(real.refusal(wrong),
            "add: axis 1 of b must be 1 or N = 4, got 3 (a f64[4], b f64[2,3])");
  Tensor flat(DType::f64, {3});
  Call short_output("add", {&row, &flat}, {&flat});
  EXPECT_EQ(short_output.can_run(real.kernel()), MOTE_OK) << short_output.message();
  Call short_rows("add", {&row, &column}, {&flat});
  EXPECT_EQ(real.refusal(short_rows),
            "add: axis 0 of y must be M = 2, got 1 (a f64[3], b f64[2,1])");
  Call integers("add", {&row, &column}, {&y});
  EXPECT_EQ(thunk.refusal(integers), "add: a must be i32, got f64 (a f64[3], b f64[2,1])");
}

TEST(Thunk, RefusesAnEmptyArgmax) {
  const ThunkOf thunk("op best\ninput x f32[R, C]\noutput y = argmax[1](x)\n");
  Tensor x(DType::f32, {2, 0});
  Tensor y(DType::i64, {2});
  Call empty("best", {&x}, {&y});
  EXPECT_EQ(thunk.refusal(empty), "best: C must be at least 1, got 0 (x f32[2,0])");
  Tensor rows(DType::f32, {0, 3});
  Tensor none(DType::i64, {0});
  Call no_rows("best", {&rows}, {&none});
  EXPECT_EQ(no_rows.run(thunk.kernel()), MOTE_OK) << no_rows.message();
}

TEST(Thunk, ChecksConstraintsThatAreLeft) {
  const ThunkOf thunk(
      "op both\ninput a f32[A*B]\ninput b f32[C]\ninput s f32[A, B]\nrequire A*B = C*C\n"
      "output y = s\noutput z = b\noutput w = a\n");
  Tensor a(DType::f32, {6});
  Tensor b(DType::f32, {2});
  Tensor s(DType::f32, {2, 3});
  Call call("both", {&a, &b, &s}, {&s, &b, &a});
  EXPECT_EQ(thunk.refusal(call),
            "both: A*B must equal C*C, got 6 and 4 (a f32[6], b f32[2], s f32[2,3])");
}

// The thunk refuses the same divisors as bind(): see tests/uops/divisor_test.cpp.
TEST(Thunk, RefusesDivisorsBelowOne) {
  const ThunkOf thunk(
      "op p\nparam k int = 1\ninput x f32[N]\noutput y = x[i0/$k over N]\n"
      "output z = x[i0%(9/$k) over N]\n");
  Tensor x(DType::f32, {4});
  Tensor y(DType::f32, {4});
  Tensor z(DType::f32, {4});
  const auto call = [&](std::int64_t k) {
    Call made("p", {&x}, {&y, &z});
    made.integer("k", k);
    return made;
  };
  Call three = call(3), zero = call(0), negative = call(-3), ten = call(10);
  EXPECT_EQ(three.can_run(thunk.kernel()), MOTE_OK) << three.message();
  EXPECT_EQ(thunk.refusal(zero), "p: k divides and must be at least 1, got 0 (x f32[4])");
  EXPECT_EQ(thunk.refusal(negative), "p: k divides and must be at least 1, got -3 (x f32[4])");
  EXPECT_EQ(thunk.refusal(ten), "p: 9/k divides and must be at least 1, got 0 (x f32[4])");
}

TEST(Thunk, AllowsAnyDivisorWhereThereIsNoElement) {
  const ThunkOf thunk("op p\nparam k int = 1\ninput x f32[N]\noutput y = x[i0/$k over N, 3]\n");
  Tensor x(DType::f32, {0});
  Tensor y(DType::f32, {0, 3});
  for (const std::int64_t k : {-3, 0, 2}) {
    Call call("p", {&x}, {&y});
    EXPECT_EQ(call.integer("k", k).run(thunk.kernel()), MOTE_OK) << call.message();
  }
}

TEST(Thunk, RefusesDivisorsOfSizesThatAreNotStored) {
  const ThunkOf sum("op p\nparam k int = 1\ninput x f32[N]\noutput y = sum[0](x[i0 over N/$k])\n");
  const ThunkOf size("op p\nparam k int = 1\ninput x f32[N]\nsize Q = N/$k\noutput y = x\n");
  // An extent that is known to be >= 0 is no divisor that is known to be >= 1.
  const ThunkOf both(
      "op p\nparam k int = 1\ninput x f32[N]\noutput y = sum[0](x[i0 over $k])\n"
      "output z = x[i0/$k over N]\n");
  Tensor x(DType::f32, {4});
  Tensor y(DType::f32, {});
  Call sum_call("p", {&x}, {&y}), size_call("p", {&x}, {&x}), both_call("p", {&x}, {&y, &x});
  sum_call.integer("k", -2);
  size_call.integer("k", -2);
  both_call.integer("k", 0);
  EXPECT_EQ(sum.refusal(sum_call), "p: k divides and must be at least 1, got -2 (x f32[4])");
  EXPECT_EQ(size.refusal(size_call), "p: k divides and must be at least 1, got -2 (x f32[4])");
  EXPECT_EQ(both.refusal(both_call), "p: k divides and must be at least 1, got 0 (x f32[4])");
}

TEST(Thunk, TakesSixteenAxes) {
  const ThunkOf thunk("op p\ninput x f64 rank 16\noutput y = x*2\n");
  const std::vector<std::int64_t> shape = {1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3};
  Tensor x(DType::f64, shape);
  Tensor y(DType::f64, shape);
  x.fill_integers(1);
  Call call("p", {&x}, {&y});
  ASSERT_EQ(call.run(thunk.kernel()), MOTE_OK) << call.message();
  std::vector<std::int64_t> last(16, 0);
  last[3] = 1;
  last[15] = 2;
  EXPECT_EQ(y.get(last), 2 * x.get(last));
}

TEST(Thunk, TakesTheInputsAndParametersOfTheWholeOp) {
  const ThunkOf thunk("op gemm\ninput a f32[N]\noutput y = a*2\n", {.function = "",
                                                                    .standalone = false,
                                                                    .thunk = true,
                                                                    .call_inputs = {"c", "a", "d"},
                                                                    .call_params = {"alpha"}});
  Tensor a(DType::f32, {2});
  Tensor y(DType::f32, {2});
  a.fill_integers(3);
  Call call("gemm", {nullptr, &a}, {&y});
  ASSERT_EQ(call.real("alpha", 3).run(thunk.kernel()), MOTE_OK) << call.message();
  EXPECT_EQ(y.get({1}), 2 * a.get({1}));
  Call given("gemm", {&a, &a, nullptr}, {&y});
  EXPECT_EQ(thunk.refusal(given, MOTE_UNSUPPORTED),
            "gemm: this kernel is the one without c (c f32[2], a f32[2])");
}

}  // namespace
}  // namespace mote
