// SPDX-License-Identifier: Apache-2.0
// Tests the gradient of every op of the set against dual numbers and differences, to order 3 for
// Map and order 2 for the rest. An op without a rule does not compile; one with a wrong rule, or
// without one that it needs, fails here.
#include <gtest/gtest.h>

#include "caught.h"
#include "gradient_check.h"

namespace mote {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

using Uops = std::vector<Uop>;

Program program_of(const Uops& inputs, const Uop& y, std::vector<ParamDecl> params = {}) {
  ProgramSpec spec;
  spec.name = "p";
  spec.inputs = inputs;
  spec.params = std::move(params);
  spec.outputs = {{"y", y}};
  return make_program(std::move(spec));
}

/// Returns distinct reals between low and high, away from each other.
Array between(double low, double high, std::int64_t count, std::uint64_t seed) {
  Array a = random_array(DType::f64, {count}, seed);
  for (Number& n : a.values) n = Number(low + (n.real() + 2) / 4 * (high - low));
  return a;
}

TEST(GradientOps, MapOps) {
  int real_ops = 0;
  for (int k = 0; k <= static_cast<int>(MapOp::where); ++k) {
    const auto op = static_cast<MapOp>(k);
    const bool is_where = op == MapOp::where;
    Uops x;
    for (int a = 0; a < arity(op); ++a)
      x.push_back(input(std::string(1, static_cast<char>('a' + a)),
                        is_where && a == 0 ? DType::boolean : DType::f64, {"N"}));
    std::vector<DType> dtypes;
    for (const Uop& u : x) dtypes.push_back(u.dtype());
    DType result = DType::boolean;
    try {
      result = result_dtype(op, dtypes, DType::f64);
    } catch (const Error&) {  // the op takes integers and booleans only
    }
    if (!is_real(result)) continue;
    if (op == MapOp::lowest_bit) continue;  // a digit of a double, which no difference shows
    ++real_ops;
    const Uop y = op == MapOp::cast ? cast(cast(x[0], DType::f32), DType::f64) : map(op, x);
    int judged = 0;
    for (const auto& [low, high] : {std::pair(0.25, 0.875), std::pair(-0.875, -0.25),
                                    std::pair(1.125, 7.5), std::pair(-7.5, -1.125)}) {
      GradientCase c{program_of(x, y), {}, {}};
      for (std::size_t a = 0; a < x.size(); ++a)
        c.inputs.push_back(dtypes[a] == DType::boolean ? boolean({4}, {0, 1, 1, 0})
                                                       : between(low, high, 4, 7 * a + 1));
      EXPECT_EQ(check_gradient(c, 3, 11, &judged), "") << name(op) << " in " << low << ".." << high;
    }
    EXPECT_GE(judged, 6) << name(op);
  }
  EXPECT_GE(real_ops, 34);
}

TEST(GradientOps, ReduceOps) {
  const Uop x = input("x", DType::f64, {"A", "B", "C"});
  for (int k = 0; k <= static_cast<int>(ReduceOp::all); ++k) {
    const auto op = static_cast<ReduceOp>(k);
    if (op == ReduceOp::any || op == ReduceOp::all) continue;  // these take booleans
    for (const std::vector<int>& axes : {std::vector{1}, {0, 2}, {0, 1, 2}}) {
      const Uop y = reduce(op, x, axes);
      if (!is_real(y.dtype())) {  // a position has no gradient, and the choice of an element is no
                                  // path for one
        EXPECT_EQ(error_of([&] { gradient(program_of({x}, y)); }),
                  "p.grad: no output is real, so that there is no gradient");
        continue;
      }
      const Program p = program_of({x}, map(MapOp::sin, Uops{y}));
      int judged = 0;
      GradientCase c{p, {random_array(DType::f64, {2, 3, 2}, 5)}, {}};
      EXPECT_EQ(check_gradient(c, 2, 3, &judged), "") << name(op);
      EXPECT_EQ(judged, 4) << name(op);
    }
  }
}

TEST(GradientOps, ProdIsRightAtZeros) {
  const Uop x = input("x", DType::f64, {"N", "M"});
  const Program p = program_of({x}, prod_over(x, {1}));
  const Array data = f64({4, 3}, {2, 3, 5, 2, 0, 5, 0, 3, 0, 0, 0, 0});
  const Array gx = evaluate(gradient(p).program, {f64({4}, {1, 10, 100, 1000}), data}, {}).at(0);
  EXPECT_EQ(gx, f64({4, 3}, {15, 10, 6, 0, 100, 0, 0, 0, 0, 0, 0, 0}));
  int judged = 0;
  EXPECT_EQ(check_gradient({p, {data}, {}}, 3, 9, &judged), "");
  EXPECT_EQ(judged, 6);
}

TEST(GradientOps, ScatterOps) {
  for (int k = 0; k <= static_cast<int>(ScatterOp::set); ++k) {
    const auto op = static_cast<ScatterOp>(k);
    const Uop b = input("b", DType::f64, {"K", "M"}), x = input("x", DType::f64, {"N", "M"});
    const Uop n = input("n", DType::i64, {"N", "M"});
    const Array base = random_array(DType::f64, {3, 2}, 1),
                data = random_array(DType::f64, {5, 2}, 2);
    // Writes meet each other, leave the range, and leave elements unwritten.
    const Program affine = program_of({b, x}, scatter(op, b, x, {"i0/2 + 1", "1 - i1"}));
    const Program selected = program_of({b, x, n}, select_scatter(op, b, x, 0, n));
    const Array index = i64({5, 2}, {0, 2, 0, 2, -1, 2, 2, 9, 2, 1});
    for (const GradientCase& c : {GradientCase{affine, {base, data}, {}},
                                  GradientCase{selected, {base, data, index}, {}}}) {
      int judged = 0;
      EXPECT_EQ(check_gradient(c, 2, 3, &judged), "") << name(op);
      EXPECT_EQ(judged, 4) << name(op);
    }
  }
}

TEST(GradientOps, ReindexSelectStopGradient) {
  const char* const bodies[] = {
      "x[i1, i0 over M, N]",    "x[i0, i2 over N, 3, M]", "x[2*i0 - 1, i1/2 over N, M else 7]",
      "x[i0/M, i0%M over N*M]", "x[0, 1 over]",           "x[i0, i0 over N]",
      "x[i0, 0 over N, 1]",     "select[0](x, n else 3)", "select[1](x, n)*x",
      "stop_gradient(x)*x",     "f64(f32(x*x))",          "f64(f16(x)*f16(x))"};
  for (const char* const body : bodies) {
    const Program p = parse_program(std::string("op p\ninput x f64[N, M]\ninput n i64[N, M]\n") +
                                    "v = " + body + "\noutput y = v*v\n");
    const GradientCase c{
        p, {random_array(DType::f64, {3, 2}, 4), i64({3, 2}, {1, 0, 5, 1, 1, -1})}, {}};
    int judged = 0;
    if (std::string(body).find("stop") == std::string::npos) {
      EXPECT_EQ(check_gradient(c, 2, 3, &judged), "") << body;
      EXPECT_EQ(judged, 4) << body;
    } else {  // finite differences ignore stop
      EXPECT_TRUE(check_adjoint(c, 3).agrees) << check_adjoint(c, 3).text;
    }
  }
}

}  // namespace
}  // namespace mote
