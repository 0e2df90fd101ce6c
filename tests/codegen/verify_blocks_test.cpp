// SPDX-License-Identifier: Apache-2.0
// Tests that verify() rejects schedules of blocks of threads that a GPU could not run, or not
// always with the same result.
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

}  // namespace
}  // namespace mote
