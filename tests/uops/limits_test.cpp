// SPDX-License-Identifier: Apache-2.0
// Tests the limits of programs: their size, their depth, and the names that they may use.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "caught.h"

namespace mote {
namespace {

using test::error_of;

// Returns a0 = x, a1 = exp(a0), … : `depth` nodes from the input to the output, both counted.
std::string chain(int depth) {
  std::string text = "op p\ninput x f32[N]\na0 = x\n";
  for (int k = 1; k < depth; ++k) text += fmt::format("a{} = exp(a{})\n", k, k - 1);
  return text + fmt::format("output y = a{}\n", depth - 1);
}

TEST(Limits, DepthOfAProgram) {
  const Program p = parse_program(chain(kMaxDepth));
  EXPECT_EQ(topological({{p.outputs[0].value}}).size(), static_cast<std::size_t>(kMaxDepth));
  EXPECT_TRUE(equal(p, parse_program(to_string(p))));
  EXPECT_EQ(error_of([] { parse_program(chain(kMaxDepth + 1)); }),
            fmt::format("program text: line {0}, column {1}: Map exp: a chain of {2} nodes, more "
                        "than {3}: let a program end in what is computed so far, and a second one "
                        "begin with that as an input",
                        kMaxDepth + 3, fmt::format("a{} = ", kMaxDepth).size() + 1, kMaxDepth + 1,
                        kMaxDepth));
  EXPECT_NE(error_of([] { parse_program(chain(20000)); }), "nothing was thrown");
}

TEST(Limits, DepthOfBuiltNodes) {
  Uop x = input("x", DType::f32, {"N"});
  for (int k = 1; k < kMaxDepth; ++k) x = stop_gradient(x);
  EXPECT_EQ(
      error_of([&] { stop_gradient(x); }),
      fmt::format("StopGradient: a chain of {} nodes, more than {}: let a program end in what is "
                  "computed so far, and a second one begin with that as an input",
                  kMaxDepth + 1, kMaxDepth));
}

std::string axes(int rank) {
  std::string text;
  for (int k = 0; k < rank; ++k) text += fmt::format("{}{}", k == 0 ? "" : ", ", k == 3 ? 2 : 1);
  return text;
}

TEST(Limits, SixteenAxes) {
  EXPECT_EQ(kMaxRank, 16);
  const std::string last = "i0, i1, i2, i15, i4, i5, i6, i7, i8, i9, i10, i11, i12, i13, i14, i3";
  const Program p = parse_program("op p\ninput x f32[" + axes(16) + "]\nt = x*2\noutput y = t[" +
                                  last + " over 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]\n" +
                                  "output s = sum[15](y)\noutput m = max[3, 15](t)");
  const std::vector<std::int64_t> shape = {1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const auto results = evaluate(p, {test::f32(shape, {3, 4})}, {});
  EXPECT_EQ(test::values_of(results[0]), (std::vector<double>{6, 8}));
  EXPECT_EQ(test::values_of(results[1]), (std::vector<double>{14}));
  EXPECT_EQ(test::values_of(results[2]), (std::vector<double>{8}));
  EXPECT_EQ(parse_program("op p\ninput x f32 rank 16\noutput y = x").inputs[0].rank(), 16);
}

TEST(Limits, SeventeenAxesAreTooMany) {
  const Uop x = input("x", DType::f32, {"N"});
  const Shape shape(17, Axis("1"));
  EXPECT_EQ(error_of([&] { input("w", DType::f32, shape); }), "Input w: rank 17 is above 16");
  EXPECT_EQ(error_of([&] { input("w", DType::f32, 17); }), "Input w: rank 17 is not in 0..16");
  EXPECT_EQ(error_of([&] { reindex(x, shape, {"0"}); }), "Reindex: rank 17 is above 16");
  EXPECT_EQ(error_of([] { parse_program("op p\ninput x f32 rank 17\noutput y = x"); }),
            "program text: line 2, column 7: rank 17 is above 16");
}

TEST(Limits, NamesOfSizesAndAxes) {
  const auto made = [](ProgramSpec spec) { return error_of([&] { make_program(spec); }); };
  const Uop x = input("x", DType::f32, {"N"});
  const Uop odd = input("x", DType::f32, Shape{Axis(Expr::size("a b"))});
  EXPECT_EQ(made({"p", "", {}, {odd}, {{"y", odd}}, {}, {}}),
            "p: Input x: the name of size 'a b' must be letters, digits and _");
  const Uop digit = reindex(x, {Axis(Expr::size("2N"), "n")}, {"i0"});
  EXPECT_EQ(made({"p", "", {}, {x}, {{"y", digit}}, {}, {}}),
            "p: Reindex: the name of size '2N' must be letters, digits and _");
  const Expr dollar = Expr::size("$k");
  EXPECT_EQ(made({"p", "", {}, {x}, {{"y", x}}, {}, {{dollar, Expr(3)}}}),
            "p: require: the name of size '$k' must be letters, digits and _");
  EXPECT_EQ(made({"p", "", {}, {x}, {{"y", x}}, {{"Q", dollar}}, {}}),
            "p: size Q: the name of size '$k' must be letters, digits and _");
  EXPECT_EQ(made({"p", "", {}, {x}, {{"y", x}}, {{"a-b", Expr(3)}}, {}}),
            "p: the name of size 'a-b' must be letters, digits and _");
  const Uop named = reindex(x, {Axis(Expr::size("N"), "n;")}, {"N - 1 - i0"});
  EXPECT_EQ(made({"p", "", {}, {x}, {{"y", named}}, {}, {}}),
            "p: Reindex: the name of axis 0 'n;' must be letters, digits and _");
  const ParamDecl param{"k k", true, {}, {}, {}, ""};
  EXPECT_EQ(made({"p", "", {param}, {x}, {{"y", x}}, {}, {}}),
            "p: the name of parameter 'k k' must be letters, digits and _");
}

}  // namespace
}  // namespace mote
