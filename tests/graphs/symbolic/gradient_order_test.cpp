// SPDX-License-Identifier: Apache-2.0
// The table of orders of gradients. tests/graphs/inline compares the gradients of its cases, to
// each order, with those of uops.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

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
  EXPECT_EQ(row("prod", DType::f64).order, 1);
  EXPECT_EQ(row("prod", DType::f32).order, 2);
  EXPECT_TRUE(row("tanh", DType::f16).in_f32);
}

}  // namespace
}  // namespace mote
