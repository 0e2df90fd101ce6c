// SPDX-License-Identifier: Apache-2.0
// The table of orders of gradients. tests/graphs/inline compares the gradients of its cases, to
// each order, with those of uops.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "gradient_cases.h"
#include "gradient_support.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

TEST(GradientOrderTable, IsCoveredByCases) {
  std::map<std::string, int> tested;
  for (const GradientCase& c : gradient_cases()) {
    const std::string op = c.command.substr(0, c.command.find(' '));
    tested[op] = std::max(tested[op], c.order);
  }
  for (const GradientOrder& row : gradient_orders()) {
    // Casts to other dtypes have the test below.
    if (row.dtype != DType::f64 || row.order == 0 || row.op.starts_with("cast_")) continue;
    EXPECT_TRUE(tested.contains(row.op)) << row.op << " has order " << row.order;
    EXPECT_EQ(std::min(row.order, kTestedOrders), tested[row.op]) << row.op;
  }
}

/// Returns the elements of the gradients of orders 1 to 3 in that dtype.
Numbers orders_at(const std::string& command, DType dtype, const Numbers& x) {
  SymbolicGraph g;
  const auto count = static_cast<std::int64_t>(x.size());
  const TensorSymbol in = g.input("x", {dtype, {count}});
  const Command parsed = parse_command(command);
  TensorSymbol d =
      parsed.definition().input_count == 1 ? g.add(parsed, {in}) : g.add(parsed, {in, in});
  d = g.add("mul", {d, in});
  Tensor value(dtype, {count});
  copy(real(x), value);
  Numbers all;
  for (int order = 0; order < 3; ++order) {
    d = gradient(g, {d}, {in})[0];
    for (const double element : numbers(evaluate(g, {{in, value}}, {d})[0])) all.push_back(element);
  }
  return all;
}

TEST(GradientOrderTable, IsEqualInF32WhereArithmeticIsExact) {
  // Powers of 4, at which these ops and their derivatives have few digits.
  const Numbers x = {0.25, 1, 4, 16};
  for (const char* command : {"mul", "div", "max", "sqrt", "rsqrt", "recip", "relu", "abs", "neg",
                              "sub", "add", "reglu", "sumsq axis=0", "mean axis=0"}) {
    EXPECT_EQ(orders_at(command, DType::f32, x), orders_at(command, DType::f64, x)) << command;
  }
}

/// The gradient of op.grad with respect to gy is the slope, by the graph's own formula, where
/// pieces meet too: half of each at a tie of max or min, as op.grad has it.
TEST(GradientOrders, SlopesWherePiecesMeetAreThoseOfTheGradient) {
  for (const char* const op : {"hardswish", "elu", "selu", "relu", "hardsigmoid"}) {
    SymbolicGraph g;
    const TensorSymbol x = g.input("x", {DType::f64, {3}}), gy = g.input("gy", {DType::f64, {3}});
    const TensorSymbol gx = gradient(g, {g.add(op, {x})}, {x}, {gy})[0];
    const TensorSymbol slope = gradient(g, {gx}, {gy})[0];
    const auto values = evaluate(g, {{x, real({-3, 0, 3})}, {gy, real({1, 1, 1})}}, {gx, slope});
    EXPECT_EQ(numbers(values[0]), numbers(values[1])) << op;
  }
  SymbolicGraph g;
  const TensorSymbol gate = g.input("gate", {DType::f64, {3}}), x = g.input("x", {DType::f64, {3}});
  const TensorSymbol gy = g.input("gy", {DType::f64, {3}});
  const std::vector<TensorSymbol> first = gradient(g, {g.add("reglu", {gate, x})}, {gate, x}, {gy});
  const TensorSymbol slope = gradient(g, {first[0]}, {gy})[0];
  const TensorSymbol by_x = gradient(g, {first[0]}, {x})[0];
  const TensorSymbol by_gate = gradient(g, {first[1]}, {gate})[0];
  const auto values =
      evaluate(g, {{gate, real({-1, 0, 1})}, {x, real({3, 4, 5})}, {gy, real({1, 1, 1})}},
               {first[0], slope, by_x, by_gate});
  EXPECT_EQ(numbers(values[0]), numbers(values[1]));
  EXPECT_EQ(numbers(values[2]), numbers(values[3]));
  EXPECT_EQ(numbers(values[2]), (Numbers{0, 0.5, 1}));
}

/// Second derivatives are those of kernels in f32, of formulas in f64.
TEST(GradientOrders, SecondDerivativesWherePiecesMeetAreTheSameByKernelsAndFormulas) {
  struct Point {
    const char* command;
    Numbers x;
    Numbers expected;  ///< by x[0] and x[0], x[0] and x[1], x[1] and x[0], x[1] and x[1]
  };
  const std::vector<Point> points = {{"celu alpha=2", {0}, {0.25}},
                                     {"elu alpha=2", {0}, {0}},
                                     {"selu alpha=2 gamma=0.5", {0}, {1}},
                                     {"softplus", {0}, {0.25}},
                                     {"softsign", {0}, {0}},
                                     {"relu", {0}, {0}},
                                     {"prelu", {0, 3}, {0, 0, 0, 0}},
                                     {"max", {2, 2}, {0, 0, 0, 0}},
                                     {"pow", {1, 0}, {0, 1, 1, 0}},
                                     {"pow", {0, 0}, {0, 0, 0, 0}},
                                     {"pow", {0, 1}, {0, 0, 0, 0}},
                                     {"pow", {0, 2}, {2, 0, 0, 0}}};
  for (const Point& point : points) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      SymbolicGraph g;
      std::vector<TensorSymbol> x;
      std::vector<TensorBinding> at;
      for (const double element : point.x) {
        x.push_back(g.input("x" + std::to_string(x.size()), {dtype, {1}}));
        const Tensor value(dtype, {1});
        fill(value, element);
        at.emplace_back(x.back(), value);
      }
      const std::vector<TensorSymbol> f = {g.add(parse_command(point.command), x)};
      Numbers second;
      for (const TensorSymbol first : gradient(g, f, x))
        for (const TensorSymbol one : gradient(g, std::vector{first}, x))
          second.push_back(numbers(evaluate(g, at, std::vector{one})[0])[0]);
      EXPECT_EQ(second, point.expected) << point.command << " " << name(dtype);
    }
  }
}

/// By x alone: the slope by the exponent is NaN, and no gradient comes for it.
TEST(GradientOrders, ASlopeThatIsNotAskedForDoesNotSpoilTheSecondDerivative) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    SymbolicGraph g;
    const TensorSymbol x = g.input("x", {dtype, {3}}), b = g.input("b", {dtype, {3}});
    const TensorSymbol first = gradient(g, {g.add("pow", {x, b})}, {x})[0];
    const TensorSymbol second = gradient(g, {first}, {x})[0];
    Tensor at(dtype, {3}), exponent(dtype, {3});
    copy(real({-2, -1, 3}), at);
    fill(exponent, 2);
    EXPECT_EQ(numbers(evaluate(g, {{x, at}, {b, exponent}}, {second})[0]), (Numbers{2, 2, 2}));
  }
}

/// b / a overflows there.
TEST(GradientOrders, SecondDerivativesOfPowersOfTheSmallestNumbers) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    SymbolicGraph g;
    const TensorSymbol x = g.input("x", {dtype, {2}}), b = g.input("b", {dtype, {2}});
    const TensorSymbol first = gradient(g, {g.add("pow", {x, b})}, {x})[0];
    const TensorSymbol second = gradient(g, {first}, {x})[0];
    Tensor at(dtype, {2}), exponent(dtype, {2});
    fill(at, dtype == DType::f32 ? 1e-39 : 1e-320);
    copy(real({1, 2}), exponent);
    EXPECT_EQ(numbers(evaluate(g, {{x, at}, {b, exponent}}, {second})[0]), (Numbers{0, 2}));
  }
}

TEST(GradientOrderTable, CastsPassTheirGradientOn) {
  for (const std::string to : {"f32", "f64", "f16", "bf16"}) {
    SymbolicGraph g;
    const TensorSymbol x = g.input("x", {DType::f64, {2}});
    const TensorSymbol y = g.add("cast_" + to, {x});
    const TensorSymbol f = g.add("cast_f64", {g.add("mul", {y, y})});
    TensorSymbol d = f;
    for (const Numbers& expected : {Numbers{3, 5}, Numbers{2, 2}, Numbers{0, 0}}) {
      d = gradient(g, {d}, {x})[0];
      const Numbers doubled = numbers(evaluate(g, {{x, real({1.5, 2.5})}}, {d})[0]);
      EXPECT_EQ(doubled, expected) << to;
    }
  }
}

TEST(GradientOrderTable, SaysWhatHasNone) {
  const auto row = [](const std::string& op, DType dtype) {
    for (const GradientOrder& r : gradient_orders())
      if (r.op == op && r.dtype == dtype) return r;
    return GradientOrder{};
  };
  EXPECT_TRUE(row("floor", DType::f64).is_zero);
  EXPECT_FALSE(row("tanh", DType::f64).is_zero);
  EXPECT_EQ(row("tanh", DType::f64).order, kAnyOrder);
  EXPECT_EQ(row("prod", DType::f64).order, kAnyOrder);
  EXPECT_EQ(row("scatter_nd_mul", DType::f64).order, 1);
  EXPECT_TRUE(row("tanh", DType::f16).in_f32);
}

// A second gradient that has a kernel is an op of the registry with one in that dtype; a composed
// one is a rule's.
TEST(GradientOrderTable, SaysWhatComputesTheSecondGradient) {
  std::map<SecondGradient, int> counts;
  const auto generated = Registry::global().column(kGenerated);
  for (const GradientOrder& row : gradient_orders()) {
    SCOPED_TRACE(row.op + " " + std::string(name(row.dtype)));
    ++counts[row.second];
    EXPECT_EQ(row.second == SecondGradient::none, row.order < 2);
    const std::optional<OpId> second = Registry::global().find(row.op + ".grad.grad");
    const GeneratedKernels* kernels = second ? generated.find(*second) : nullptr;
    const DType dtype = row.in_f32 ? DType::f32 : row.dtype;
    const bool has_kernel =
        kernels != nullptr && std::ranges::any_of(*kernels, [&](const GeneratedKernel& kernel) {
          return kernel.dtype == dtype;
        });
    EXPECT_FALSE(row.second == SecondGradient::kernel && !has_kernel);
    EXPECT_FALSE(row.second == SecondGradient::composed && has_kernel);
  }
  for (const SecondGradient second : {SecondGradient::none, SecondGradient::passed,
                                      SecondGradient::composed, SecondGradient::kernel})
    EXPECT_GT(counts[second], 0);
}

/// The node of a case in that dtype, and what is differentiated with respect to what.
struct Differentiated {
  SymbolicGraph g;
  std::vector<TensorSymbol> of;
  std::vector<TensorSymbol> wrt;

  Differentiated(const GradientCase& c, DType dtype) {
    std::vector<TensorSymbol> inputs;
    for (const CaseInput& in : c.inputs) {
      inputs.emplace_back();
      if (in.is_left_out) continue;
      const DType own = is_real(in.dtype) ? dtype : in.dtype;
      inputs.back() = g.input("x" + std::to_string(inputs.size()), {own, in.shape});
      if (is_real(own)) wrt.push_back(inputs.back());
    }
    const NodeSymbol node = g.add_node(parse_command(c.command), inputs, dtype);
    for (const std::uint32_t output : g.info(node).outputs)
      if (output != kNoIndex && is_real(g.symbols()[output].form->dtype))
        of.push_back(g.at(output));
  }
};

TEST(GradientOrderTable, BeyondTheLastOrderOpPathAndWayOutAreNamed) {
  std::map<std::pair<std::string, DType>, int> orders;
  for (const GradientOrder& row : gradient_orders()) orders[{row.op, row.dtype}] = row.order;
  std::set<std::string> ops;
  for (const GradientCase& c : gradient_cases()) {
    const std::string op = c.command.substr(0, c.command.find(' '));
    for (const DType dtype : {DType::f32, DType::f64, DType::f16}) {
      const int last = orders[{op, dtype}];
      if (last == 0 || last == kAnyOrder) continue;
      SCOPED_TRACE(c.command + " " + std::string(name(dtype)));
      ops.insert(op);
      Differentiated d(c, dtype);
      for (int order = 1; order <= last; ++order) d.of = gradient(d.g, d.of, d.wrt);
      const std::size_t nodes = d.g.node_count();
      const std::string error = error_of([&] { gradient(d.g, d.of, d.wrt); });
      EXPECT_NE(error.find("(" + op + ".grad"), std::string::npos) << error;
      EXPECT_NE(error.find(" has no gradient: "), std::string::npos) << error;
      EXPECT_NE(error.find("mote_add_kernels() makes the gradients of "), std::string::npos)
          << error;
      EXPECT_NE(error.find("a plug-in may register"), std::string::npos) << error;
      EXPECT_NE(error.find("it is on the path "), std::string::npos) << error;
      EXPECT_EQ(d.g.node_count(), nodes);
    }
  }
  for (const auto& [row, order] : orders)
    EXPECT_TRUE(order == 0 || order == kAnyOrder || ops.contains(row.first)) << row.first;
}

}  // namespace
}  // namespace mote
