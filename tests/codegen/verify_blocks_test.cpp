// SPDX-License-Identifier: Apache-2.0
// Tests that verify() rejects schedules of blocks of threads that a GPU could not run, or not
// always with the same result.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/dependence.h"
#include "loop_builders.h"
#include "mote/base/error.h"

namespace mote {
namespace {

using namespace test;

Stmt of_kind(LoopKind kind, Stmt s) {
  as_loop(s)->kind = kind;
  return s;
}
Stmt of_block(Stmt s) { return of_kind(LoopKind::block_threads, std::move(s)); }
Stmt of_one_thread(const std::string& lane, Stmt s) {
  return of_block(loop(lane, 1, {std::move(s)}));
}

/// y[r, n] = x[r, n] - t[r], where t[r] = sum_n x[r, n]
LoopProgram rows_of(Body row) {
  const Uop x = input("x", DType::f32, {"R", "N"});
  return loops_of({"rows", "", {}, {x}, {{"y", x - sum(x, {1})}}, {}, {}},
                  {of_kind(LoopKind::grid, loop("r", size("R"), std::move(row)))},
                  {temporary("t", {size("R")})});
}

Expr r() { return var("r"); }
Stmt sum_row() {
  return of_block(loop("n", size("N"), {fold("s", ReduceOp::sum, at("x", {r(), var("n")}))},
                       {{"s", ReduceOp::sum, DType::f32}}));
}
Stmt store_sum() { return of_one_thread("lane", store("t", {r()}, accumulated("s"))); }
Stmt subtract_sum() {
  const Expr m = var("m");
  return of_block(loop(
      "m", size("N"), {store("y", {r(), m}, op(MapOp::sub, {at("x", {r(), m}), at("t", {r()})}))}));
}
Stmt barrier() { return {Barrier{}}; }

/// Returns "" if verify accepts the program, else the message after the program's name.
std::string block_complaint(const LoopProgram& p) {
  try {
    verify(p);
  } catch (const InternalError& e) {
    const std::string text = e.what(), name = "rows: ";
    return text.substr(text.find(name) + name.size());
  }
  return "";
}
std::string complaint_of_block(Body row) { return block_complaint(rows_of(std::move(row))); }

TEST(VerifyBlocks, AcceptRowsWithTheirBarrier) {
  EXPECT_EQ(complaint_of_block({sum_row(), store_sum(), barrier(), subtract_sum()}), "");
}

TEST(VerifyBlocks, AskForABarrierBetweenAStoreAndAReadByOtherThreads) {
  EXPECT_EQ(complaint_of_block({sum_row(), store_sum(), subtract_sum()}),
            "`block_threads for m in 0..N {`: no barrier stands between it and another access of "
            "what it accesses");
}

TEST(VerifyBlocks, AskForABarrierBetweenAReadAndAStoreByOtherThreads) {
  // The input may share its memory with the output.
  const Stmt copy = of_block(loop("k", size("N"), {store("y", {r(), var("k")}, real(0))}));
  const Stmt look = let("first", at("x", {r(), 0}));
  EXPECT_EQ(complaint_of_block({look, copy}),
            "`block_threads for k in 0..N {`: no barrier stands between it and another access of "
            "what it accesses");
  EXPECT_EQ(complaint_of_block({look, barrier(), copy}), "");
}

TEST(VerifyBlocks, AskForABarrierBetweenIterationsOfALoopAroundThem) {
  const Body twice = {sum_row(), store_sum(), barrier(), subtract_sum()};
  EXPECT_EQ(
      complaint_of_block({loop("k", 2, twice)}),
      "`block_threads for n in 0..N with s = sum {`: no barrier stands between it and another "
      "access of what it accesses");
}

TEST(VerifyBlocks, RejectABarrierThatSomeThreadsDoNotReach) {
  Stmt shared = subtract_sum();
  as_loop(shared)->body.push_back(barrier());
  EXPECT_EQ(complaint_of_block({sum_row(), store_sum(), barrier(), shared}),
            "`barrier`: only some threads of a block may reach it");
  LoopProgram p = rows_of({sum_row(), store_sum(), barrier(), subtract_sum()});
  p.tensors.push_back(temporary("flag", {size("R")}, DType::i64));
  Body& row = as_loop(p.body.front())->body;
  const Value one = constant(std::int64_t{1}, DType::i64);
  row[2] = of_one_thread("lane2", store("flag", {r()}, one));
  row.insert(row.begin() + 3, {barrier(), when({nonneg(load("flag", {r()}) - 1)}, {barrier()})});
  EXPECT_EQ(block_complaint(p), "`barrier`: only some threads of a block may reach it");
}

TEST(VerifyBlocks, RejectAStoreByAllThreads) {
  EXPECT_EQ(complaint_of_block({sum_row(), store("t", {r()}, accumulated("s")), subtract_sum()}),
            "`t[r] = s`: all threads of a block store the same element");
  const Stmt all_lanes =
      of_kind(LoopKind::warp, loop("k", size("N"), {store("y", {r(), var("k")}, real(0))}));
  EXPECT_EQ(complaint_of_block({all_lanes}),
            "`y[r, k] = 0`: all threads of a warp store the same element");
}

TEST(VerifyBlocks, KeepLoopsWithinABlockInAGrid) {
  LoopProgram p = rows_of({sum_row(), store_sum(), barrier(), subtract_sum()});
  as_loop(p.body.front())->kind = LoopKind::serial;
  EXPECT_EQ(block_complaint(p),
            "`block_threads for n in 0..N with s = sum {`: threads of a block share it "
            "outside of a grid");
  const Stmt nested = of_block(
      loop("j", 1, {of_block(loop("k", size("N"), {store("y", {r(), var("k")}, real(0))}))}));
  EXPECT_EQ(complaint_of_block({nested}),
            "`block_threads for k in 0..N {`: it stands in a loop within a block");
  EXPECT_EQ(complaint_of_block({of_kind(LoopKind::warp, loop("j", 1, as_loop(nested)->body))}), "");
}

/// A sum over threads waits for all of them, so it orders what stands around it.
TEST(VerifyBlocks, TakeTheEndOfASumForABarrier) {
  const Expr k = var("k");
  const Stmt fill = of_block(loop("k", size("N"), {store("y", {r(), k}, at("x", {r(), k}))}));
  EXPECT_EQ(complaint_of_block({sum_row(), fill}), "");
}

TensorDecl in_block(const std::string& name, std::vector<Expr> shape,
                    TensorMemory memory = TensorMemory::shared, DType dtype = DType::f32) {
  TensorDecl t = temporary(name, std::move(shape), dtype);
  t.per = variable("r");
  t.memory = memory;
  return t;
}

/// y[r, n] = x[r, n], by 128 threads that pass elements on in memory of the block.
std::string complaint_with(Body row, std::vector<TensorDecl> tensors) {
  const Uop x = input("x", DType::f32, {"R", "N"});
  return block_complaint(loops_of({"rows", "", {}, {x}, {{"y", x}}, {}, {}},
                                  {of_kind(LoopKind::grid, loop("r", size("R"), std::move(row)))},
                                  std::move(tensors)));
}

Stmt fills(const std::string& tensor, const std::string& v, std::vector<Expr> index) {
  return of_block(loop(v, 128, {store(tensor, std::move(index), real(1))}));
}
/// Threads read what others have stored.
Stmt reads(const std::string& tensor, const std::string& v, std::vector<Expr> index) {
  return of_block(loop(v, 128, {store("y", {r(), var(v)}, at(tensor, std::move(index)))}));
}
Expr other(const std::string& v) { return Expr(127) - var(v); }

constexpr const char* kNoBarrier =
    "no barrier stands between it and another access of what it accesses";

TEST(VerifyMemoryOfBlocks, FollowsPartsThroughAllIterations) {
  const auto ring = [](const Expr& stored, const Expr& read) {
    return complaint_with({loop("k", size("N"),
                                {barrier(), fills("s", "t", {stored, var("t")}),
                                 reads("s", "u", {read, other("u")})}),
                           barrier()},
                          {in_block("s", {2, 128})});
  };
  const Expr k = var("k");
  EXPECT_EQ(ring(k % 2, (k + 1) % 2), "");
  EXPECT_NE(ring(k % 2, k % 2), "");
  // The parts differ in the first eight iterations alone.
  EXPECT_NE(ring((k / 8) % 2, 1), "");
}

TEST(VerifyMemoryOfBlocks, AskForABarrierBetweenIterationsOfAGrid) {
  const Stmt fill = fills("s", "t", {var("t")}), read = reads("s", "u", {other("u")});
  EXPECT_EQ(complaint_with({fill, barrier(), read, barrier()}, {in_block("s", {128})}), "");
  EXPECT_EQ(complaint_with({fill, barrier(), read}, {in_block("s", {128})}),
            fmt::format("`block_threads for t in 0..128 {{`: {}", kNoBarrier));
  TensorDecl s = in_block("s", {128});
  s.per = variable("k");
  EXPECT_NE(complaint_with({loop("k", size("N"), {fill, barrier(), read, barrier()})}, {s}), "");
}

TEST(VerifyMemoryOfBlocks, LoseWhatAnotherTensorTakesThePlaceOf) {
  TensorDecl g = in_block("g", {128});
  g.in_place_of = "s";
  const Stmt first = fills("s", "t", {var("t")}), read = reads("s", "u", {other("u")});
  const Stmt second = fills("g", "w", {var("w")}), last = reads("g", "z", {other("z")});
  EXPECT_EQ(complaint_with({first, barrier(), read, barrier(), second, barrier(), last, barrier()},
                           {in_block("s", {128}), g}),
            "");
  EXPECT_EQ(complaint_with(
                {first, barrier(),
                 loop("k", 4, {read, barrier(), second, barrier(), last, barrier()}), barrier()},
                {in_block("s", {128}), g}),
            "s is accessed after g, which takes its place");
  EXPECT_EQ(complaint_with({first, barrier(), read, barrier(), second, barrier(), last, barrier()},
                           {in_block("s", {127}), g}),
            "g in place of s needs as much of the same shared memory");
}

TEST(VerifyMemoryOfBlocks, WaitForCopiesThatLoopsMayNotWaitFor) {
  const auto copy = [](const std::string& a, const std::string& b) {
    return of_kind(
        LoopKind::ahead,
        loop(a, 128,
             {loop(b, 1, {store("s", {var(a), var(b)}, at("x", {r(), var(a) + var(b)}))})}));
  };
  const Stmt wait = {WaitForCopies{0}}, read = reads("s", "u", {other("u"), 0});
  const std::vector<TensorDecl> s = {in_block("s", {128, 1})};
  EXPECT_EQ(complaint_with({copy("t", "w"), wait, barrier(), read, barrier()}, s), "");
  const std::string under_way =
      "`block_threads for u in 0..128 {`: a copy to what it accesses is under way";
  EXPECT_EQ(complaint_with({copy("t", "w"), barrier(), read, barrier(), wait}, s), under_way);
  EXPECT_NE(
      complaint_with(
          {copy("t", "w"), loop("k", size("N"), {wait}), barrier(), read, barrier(), wait}, s),
      "");
  EXPECT_EQ(complaint_with({copy("t", "w"), wait, barrier(), read, barrier(), copy("a", "b")}, s),
            "copies are under way at the end of an iteration of a grid");
}

/// A thread has elements of its own in registers and fragments.
TEST(VerifyMemoryOfBlocks, KeepRegistersToTheirThread) {
  const auto nest = [](const std::string& a, const std::string& b, Stmt s) {
    return of_kind(LoopKind::fragments, loop(a, 64, {loop(b, 64, {std::move(s)})}));
  };
  const Stmt result = of_block(loop("u", 1, {store("y", {r(), var("u")}, real(1))}));
  const Stmt zero = nest("a", "b", store("f", {var("a"), var("b")}, real(1)));
  const std::vector<TensorDecl> both = {in_block("f", {64, 64}, TensorMemory::fragments),
                                        in_block("g", {64, 64}, TensorMemory::fragments)};
  const auto copied = [&](const Expr& row) {
    return nest("c", "d", store("g", {var("c"), var("d")}, at("f", {row, var("d")})));
  };
  EXPECT_EQ(complaint_with({zero, copied(var("c")), result}, both), "");
  EXPECT_EQ(complaint_with({zero, copied(Expr(63) - var("c")), result}, both),
            "f is in fragments, and is not accessed by a row and a column of loops of their kind");
  const Stmt few = of_block(
      loop("a", 4, {of_block(loop("b", 4, {store("l", {var("a"), var("b"), 0}, real(1))}))}));
  EXPECT_EQ(complaint_with({few, result}, {in_block("l", {4, 4, 2}, TensorMemory::local)}),
            "l is in each thread, and a thread accesses another one's elements");
}

/// Digits name an iteration if their limits stay, and each is on an axis of its own.
TEST(VerifyMemoryOfBlocks, TellIterationsApartByDigits) {
  const auto digits = [](const Expr& end) {
    Stmt s = of_block(loop("t", size("N"), {store("y", {var("a"), var("b")}, real(1))}));
    as_loop(s)->digits = {{variable("a"), 0, size("R"), 1}, {variable("b"), 0, end, 1}};
    as_loop(s)->number = var("t");
    const Uop x = input("x", DType::f32, {"R", "N"});
    return block_complaint(loops_of({"rows", "", {}, {x}, {{"y", x}}, {}, {}},
                                    {of_kind(LoopKind::grid, loop("r", 1, {s}))}, {}));
  };
  EXPECT_EQ(digits(size("N")), "");
  EXPECT_NE(digits(max(var("t"), 1)), "");
  EXPECT_NE(digits(var("a") + 1), "");
}

}  // namespace
}  // namespace mote
