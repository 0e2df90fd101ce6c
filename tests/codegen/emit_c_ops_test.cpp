// SPDX-License-Identifier: Apache-2.0
// Tests every map op and reduction, for every dtype that it takes, on edge values: the compiled C
// gives the same bits as apply() and evaluate().
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiled_c.h"
#include "mote/base/error.h"
#include "mote/codegen/passes.h"
#include "trial.h"

namespace mote {
namespace {

using namespace test;

std::vector<Number> edge_values(DType dtype) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();
  std::vector<Number> values;
  if (is_real(dtype)) {
    for (const double v : {0.0,
                           -0.0,
                           1.0,
                           -1.0,
                           0.5,
                           -0.5,
                           1.5,
                           2.5,
                           -2.5,
                           0.1,
                           -7.3,
                           3.0,
                           1e-310,
                           1e300,
                           -1e300,
                           2147483646.7,
                           2147483648.0,
                           -2147483649.0,
                           1e19,
                           -1e19,
                           9223372036854774784.0,
                           40.0,
                           kInf,
                           -kInf,
                           std::numeric_limits<double>::quiet_NaN()})
      values.push_back(store_as(v, dtype));
  } else if (dtype == DType::boolean) {
    values = {Number(0), Number(1)};
  } else {
    for (const std::int64_t v :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{2}, std::int64_t{-2},
          std::int64_t{3}, std::int64_t{-7}, std::int64_t{63}, std::int64_t{1} << 31U,
          -(std::int64_t{1} << 31U), (std::int64_t{1} << 53U) + 1, kLeast, kLeast + 1, kGreatest})
      if (dtype == DType::i64 || identical(store_as(v, dtype), v)) values.emplace_back(v);
  }
  return values;
}

/// A program whose only output is op on inputs a, b, c of rank 1, and all combinations of values.
struct OpCase {
  std::shared_ptr<const Program> program;
  std::vector<Array> inputs;
  std::vector<Number> expected;
};

OpCase op_case(MapOp op, DType dtype, DType to) {
  const int n = arity(op);
  std::vector<DType> dtypes(static_cast<std::size_t>(n), dtype);
  if (op == MapOp::where) dtypes[0] = DType::boolean;
  std::vector<Uop> args;
  OpCase c;
  std::vector<std::vector<Number>> values;
  for (int k = 0; k < n; ++k) {
    const DType d = dtypes[static_cast<std::size_t>(k)];
    args.push_back(input(std::string(1, static_cast<char>('a' + k)), d, {"N"}));
    values.push_back(edge_values(d));
    c.inputs.push_back({d, {}, {}});
  }
  const Uop y = op == MapOp::cast ? cast(args[0], to) : map(op, args);
  std::size_t total = 1;
  for (const auto& v : values) total *= v.size();
  for (std::size_t k = 0; k < total; ++k) {
    std::vector<Number> scalars;
    std::size_t rest = k;
    for (std::size_t a = 0; a < values.size(); ++a) {
      scalars.push_back(values[a][rest % values[a].size()]);
      c.inputs[a].values.push_back(scalars.back());
      rest /= values[a].size();
    }
    c.expected.push_back(store_as(apply(op, scalars, dtype, y.dtype()), y.dtype()));
  }
  for (Array& a : c.inputs) a.shape = {static_cast<std::int64_t>(total)};
  ProgramSpec spec;
  spec.name = "op";
  spec.inputs = args;
  spec.outputs = {{"y", y}};
  c.program = std::make_shared<const Program>(make_program(std::move(spec)));
  return c;
}

std::vector<OpCase> all_cases() {
  std::vector<OpCase> all;
  for (int k = 0; k <= static_cast<int>(MapOp::where); ++k) {
    const auto op = static_cast<MapOp>(k);
    for (const DType dtype : all_dtypes()) {
      if (op == MapOp::cast) {
        for (const DType to : all_dtypes()) all.push_back(op_case(op, dtype, to));
        continue;
      }
      std::vector<DType> dtypes(static_cast<std::size_t>(arity(op)), dtype);
      if (op == MapOp::where) dtypes[0] = DType::boolean;
      try {
        result_dtype(op, dtypes, dtype);
      } catch (const Error&) {
        continue;  // the op does not take this dtype
      }
      all.push_back(op_case(op, dtype, dtype));
    }
  }
  return all;
}

TEST(EmitCOps, MapsGiveTheBitsOfApply) {
  const std::vector<OpCase> all = all_cases();
  ASSERT_GT(all.size(), 120U);
  CBatch batch;
  for (const OpCase& c : all) batch.add(compile(c.program));
  batch.compile();
  for (std::size_t k = 0; k < all.size(); ++k) {
    const OpCase& c = all[k];
    const Array got = batch.run(static_cast<int>(k), *c.program, c.inputs, {})[0];
    ASSERT_EQ(got.values.size(), c.expected.size());
    for (std::size_t e = 0; e < c.expected.size(); ++e)
      EXPECT_TRUE(identical(got.values[e], c.expected[e]))
          << to_string(*c.program) << "element " << e;
  }
}

/// gcc 12 turns 0.0 - (c ? -2.0 : 0.0) into c ? 2.0 : -0.0, unless any rounding mode is possible.
TEST(EmitCOps, ZeroMinusAChoiceKeepsTheSignOfZero) {
  const auto p = std::make_shared<const Program>(
      parse_program("op sign\n"
                    "input x f64[N]\n"
                    "input k bool[N]\n"
                    "output y = where(x > x, x, 0) - where(k, -2, f64(0))\n"));
  const std::vector<Array> inputs = {{DType::f64, {2}, {Number(1.0), Number(1.0)}},
                                     {DType::boolean, {2}, {Number(0), Number(1)}}};
  CBatch batch;
  batch.add(compile(p));
  batch.compile();
  const Array got = batch.run(0, *p, inputs, {})[0];
  EXPECT_TRUE(identical(got.values[0], Number(0.0)));
  EXPECT_TRUE(identical(got.values[1], Number(2.0)));
}

/// The reductions run over the edge values, in both orders, and over no elements.
TEST(EmitCOps, ReductionsGiveTheBitsOfEvaluate) {
  std::vector<std::shared_ptr<const Program>> programs;
  std::vector<Array> data;
  for (int k = 0; k <= static_cast<int>(ReduceOp::all); ++k) {
    for (const DType dtype : all_dtypes()) {
      const auto op = static_cast<ReduceOp>(k);
      const Uop x = input("x", dtype, {"N"});
      Uop y;
      try {
        y = reduce(op, x, {0});
      } catch (const Error&) {
        continue;  // the reduction does not take this dtype
      }
      ProgramSpec spec;
      spec.name = "reduction";
      spec.inputs = {x};
      spec.outputs = {{"y", y}};
      programs.push_back(std::make_shared<const Program>(make_program(std::move(spec))));
      const std::vector<Number> values = edge_values(dtype);
      data.push_back({dtype, {static_cast<std::int64_t>(values.size())}, values});
    }
  }
  ASSERT_GT(programs.size(), 25U);
  CBatch batch;
  for (const auto& p : programs) batch.add(compile(p));
  batch.compile();
  int compared = 0;
  for (std::size_t k = 0; k < programs.size(); ++k) {
    for (std::size_t first = 0; first <= data[k].values.size(); ++first) {
      Array x = data[k];
      x.values.erase(x.values.begin(), x.values.begin() + static_cast<std::ptrdiff_t>(first));
      x.shape = {static_cast<std::int64_t>(x.values.size())};
      std::vector<Array> expected;
      try {
        expected = evaluate(*programs[k], {x}, {});
      } catch (const Error&) {
        EXPECT_THROW(batch.run(static_cast<int>(k), *programs[k], {x}, {}), Error);
        continue;  // argmax of no elements
      }
      const Array got = batch.run(static_cast<int>(k), *programs[k], {x}, {})[0];
      EXPECT_TRUE(identical(got.values[0], expected[0].values[0]))
          << to_string(*programs[k]) << "from " << first;
      ++compared;
    }
  }
  EXPECT_GT(compared, 300);
}

}  // namespace
}  // namespace mote
