// SPDX-License-Identifier: Apache-2.0
// Tests Scatter and SelectScatter: meaning, ambiguity of indices, dtypes, errors.
#include <gtest/gtest.h>

#include "caught.h"
#include "mote/uops/evaluate.h"

namespace mote {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): arrays and constants

const std::string kScatter = R"(op s
  input b f64[K]
  input x f64[N]
  output y = scatter[)";

Array scattered(const std::string& op_and_index, const Array& b, const Array& x) {
  const std::size_t at = op_and_index.find(' ');
  return run(
      kScatter + op_and_index.substr(0, at) + "](b, x to " + op_and_index.substr(at + 1) + ")",
      {b, x});
}

TEST(Scatter, JoinsByItsOp) {
  const Array b = f64({3}, {10, 20, 30});
  const Array x = f64({2}, {2, 50});
  EXPECT_EQ(scattered("add i0", b, x), f64({3}, {12, 70, 30}));
  EXPECT_EQ(scattered("mul i0", b, x), f64({3}, {20, 1000, 30}));
  EXPECT_EQ(scattered("max i0", b, x), f64({3}, {10, 50, 30}));
  EXPECT_EQ(scattered("min i0", b, x), f64({3}, {2, 20, 30}));
  EXPECT_EQ(scattered("set i0", b, x), f64({3}, {2, 50, 30}));
}

TEST(Scatter, DropsWhatIsOutOfRange) {
  EXPECT_EQ(scattered("add 2*i0 - 1", f64({3}, {0, 0, 0}), f64({4}, {1, 2, 3, 4})),
            f64({3}, {0, 2, 0}));
  EXPECT_EQ(scattered("add i0", f64({0}, {}), f64({2}, {1, 2})), f64({0}, {}));
  EXPECT_EQ(scattered("add i0", f64({2}, {5, 6}), f64({0}, {})), f64({2}, {5, 6}));
}

TEST(Scatter, DuplicatesAccumulateAndTheLastSetStays) {
  EXPECT_EQ(scattered("add i0/3", f64({2}, {100, 200}), f64({5}, {1, 2, 3, 4, 5})),
            f64({2}, {106, 209}));
  EXPECT_EQ(scattered("set i0/3", f64({2}, {100, 200}), f64({5}, {1, 2, 3, 4, 5})),
            f64({2}, {3, 5}));
}

TEST(Scatter, IsTheAdjointOfReindex) {
  // Checks <reindex(u), v> = <u, scatter(v)>, with an index that leaves the range on both sides.
  const Array u = f64({4}, {1, 10, 100, 1000});
  const Array v = f64({5}, {2, 3, 5, 7, 11});
  const Array left = run(R"(op l
    input u f64[N]
    input v f64[M]
    output y = sum[0](u[2*i0 - 3 over M]*v))",
                         {u, v});
  const Array right = run(R"(op r
    input u f64[N]
    input v f64[M]
    output y = sum[0](u*scatter[add](f64(0)[over N], v to 2*i0 - 3)))",
                          {u, v});
  EXPECT_EQ(left, right);
  EXPECT_EQ(left, f64({}, {5 * 10 + 7 * 1000}));
}

TEST(Scatter, NanWinsInMaxAndMin) {
  EXPECT_EQ(scattered("max 0", f64({1}, {1}), f64({3}, {5, kNan, 7})), f64({1}, {kNan}));
  EXPECT_EQ(scattered("min 0", f64({1}, {kNan}), f64({1}, {5})), f64({1}, {kNan}));
}

TEST(Scatter, AccumulatesInDoubleAndRoundsOnce) {
  // In f32, 2^24 + 1 + 1 would stay at 2^24.
  const Array y = run(R"(op s
    input b f32[K]
    input x f32[N]
    output y = scatter[add](b, x to 0*i0))",
                      {f32({1}, {0x1p24}), f32({2}, {1, 1})});
  EXPECT_EQ(y, f32({1}, {0x1p24 + 2}));
}

TEST(SelectScatter, WritesWhereTheIndexSays) {
  const std::string head = R"(op s
    input b f64[K, M]
    input x f64[N, M]
    input n i64[N, M]
    output y = select_scatter[0, )";
  const std::vector<Array> in = {f64({2, 2}, {0, 0, 100, 100}), f64({3, 2}, {1, 2, 3, 4, 5, 6}),
                                 i64({3, 2}, {1, 0, 1, -1, 2, 0})};
  EXPECT_EQ(run(head + "add](b, x, n)", in), f64({2, 2}, {0, 8, 104, 100}));
  EXPECT_EQ(run(head + "set](b, x, n)", in), f64({2, 2}, {0, 6, 3, 100}));
}

TEST(SelectScatter, IsTheAdjointOfSelect) {
  const Array u = f64({3, 2}, {1, 10, 100, 1000, 10000, 100000});
  const Array v = f64({2, 2}, {2, 3, 5, 7});
  const Array n = i64({2, 2}, {2, 0, 2, 9});
  const std::string head = R"(op a
    input u f64[N, M]
    input v f64[L, M]
    input n i64[L, M]
    output y = )";
  EXPECT_EQ(run(head + "sum[0, 1](select[0](u, n)*v)", {u, v, n}),
            run(head + "sum[0, 1](u*select_scatter[0, add](0*u, v, n))", {u, v, n}));
}

TEST(Scatter, SaysWhatDoesNotFit) {
  const Uop b = input("b", DType::f32, 2);
  const Uop x = input("x", DType::f32, 1);
  EXPECT_EQ(error_of([&] { scatter(ScatterOp::add, b, x, {"i0"}); }),
            "Scatter add: f32[db0, db1] needs 2 indices, got 1");
  EXPECT_EQ(error_of([&] {
              scatter(ScatterOp::add, b, x, {"i0", "i1"});
            }),
            "Scatter add: index i1 mentions i1, but the rank is 1");
  EXPECT_EQ(error_of([&] {
              scatter(ScatterOp::set, b, input("z", DType::f64, 1), {"i0", 0});
            }),
            "Scatter set: dtypes of base and x differ: f32[db0, db1] and f64[dz0]");
  const Uop p = input("p", DType::boolean, 1);
  EXPECT_EQ(error_of([&] { scatter(ScatterOp::mul, p, p, {"i0"}); }),
            "Scatter mul: dtype must not be bool, got bool[dp0]");
  const Uop n = input("n", DType::i32, 1);
  EXPECT_EQ(error_of([&] { select_scatter(ScatterOp::add, x, x, 1, n); }),
            "SelectScatter add: axis 1 is out of range for f32[dx0]");
  EXPECT_EQ(error_of([&] { select_scatter(ScatterOp::add, x, x, 0, x); }),
            "SelectScatter add: the index must be an integer, got f32[dx0]");
  EXPECT_EQ(error_of([&] { select_scatter(ScatterOp::add, b, x, 0, n); }),
            "SelectScatter add: ranks of f32[db0, db1] and of the index i32[dn0] differ");
}

TEST(Scatter, SizesThatMustAgreeAreUnified) {
  const std::string program = R"(op s
    input b f64[K, M]
    input x f64[N, L]
    input n i64[P, Q]
    output y = select_scatter[0, add](b, x, n))";
  EXPECT_EQ(error_of([&] {
              run(program, {f64({1, 2}, {0, 0}), f64({1, 3}, {0, 0, 0}), i64({1, 3}, {0, 0, 0})});
            }).find('3') != std::string::npos,
            true);
}

}  // namespace
}  // namespace mote
