// SPDX-License-Identifier: Apache-2.0
// Gradients of gradients, and forward mode, of every op that has them in f64: against central
// differences, and against each other.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "gradient_cases.h"
#include "gradient_support.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

/// A graph of one op, its real inputs and outputs, and values for all of its inputs.
struct OpGraph {
  explicit OpGraph(const GradientCase& c) {
    std::vector<TensorSymbol> inputs;
    int number = 0;
    for (const CaseInput& in : c.inputs) {
      if (in.shape.size() == 0 && in.is_left_out) {
        inputs.emplace_back();
        continue;
      }
      const TensorSymbol x = g.input("x" + std::to_string(number++), {in.dtype, in.shape});
      inputs.push_back(x);
      bind(x, in.dtype == DType::f64 ? counted(in.shape, in.lowest, in.highest, number)
                                     : whole_numbers(in));
      if (is_real(in.dtype)) wrt.push_back(x);
    }
    const NodeSymbol node = g.add_node(parse_command(c.command), inputs, DType::f64);
    for (const std::uint32_t output : g.info(node).outputs)
      if (output != kNoIndex && g.symbols()[output].form.dtype == DType::f64)
        of.push_back(g.at(output));
  }

  /// Adds an input of the symbol's form with values.
  TensorSymbol like(TensorSymbol x, int turn) {
    const TensorSymbol w = g.input("w" + std::to_string(g.symbol_count()), g.form(x));
    bind(w, counted(g.form(x).shape, -1, 1, turn));
    return w;
  }
  std::vector<TensorSymbol> like(const std::vector<TensorSymbol>& symbols, int turn) {
    std::vector<TensorSymbol> all;
    for (const TensorSymbol x : symbols) all.push_back(like(x, turn++));
    return all;
  }
  void bind(TensorSymbol x, const Tensor& value) { bindings.emplace_back(x, value); }
  std::vector<Numbers> values(const std::vector<TensorSymbol>& symbols) const {
    std::vector<Numbers> all;
    for (const Tensor& t : evaluate(g, bindings, symbols)) all.push_back(numbers(t));
    return all;
  }

  SymbolicGraph g;
  std::vector<TensorBinding> bindings;
  std::vector<TensorSymbol> wrt;
  std::vector<TensorSymbol> of;
};

class GradientOrders : public testing::TestWithParam<GradientCase> {};

TEST_P(GradientOrders, AreThoseOfCentralDifferences) {
  OpGraph o(GetParam());
  std::vector<TensorSymbol> of = o.of;
  std::vector<TensorSymbol> wrt = o.wrt;
  for (int order = 1; order <= GetParam().order; ++order) {
    const std::vector<TensorSymbol> seeds = o.like(of, order * 7);
    const std::vector<TensorSymbol> gradients = gradient(o.g, of, wrt, seeds);
    verify(o.g);
    SCOPED_TRACE(GetParam().command + " order " + std::to_string(order));
    expect_central_differences(o.g, o.bindings, {of, o.values(seeds)}, wrt, gradients);
    if (HasFailure()) return;
    // The next order is also with respect to the seeds of this one.
    wrt.insert(wrt.end(), seeds.begin(), seeds.end());
    of = gradients;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, GradientOrders, testing::ValuesIn(gradient_cases()),
                         [](const auto& info) { return info.param.name(info.index); });

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
