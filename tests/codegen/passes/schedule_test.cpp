// SPDX-License-Identifier: Apache-2.0
// Tests the schedule: its steps and loops as golden files, that every version computes the same as
// the compiled loops, and loops that it must leave unchanged.
#include "mote/codegen/schedule.h"

#include <algorithm>

#include "mote/base/error.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/optional_outputs.h"
#include "mote/codegen/walk.h"
#include "mote/macroops/catalogue.h"
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

bool is_marked(const LoopProgram& p) {
  bool found = false;
  for_each(p.body, [&](const Stmt& s) {
    if (const auto* l = std::get_if<Loop>(&s.kind)) found = found || l->kind != LoopKind::serial;
  });
  return found;
}

const std::string kOurs = "internal error (a bug in mote, please report it): ";

std::string complaint(const LoopProgram& p) {
  try {
    verify(p);
    return "";
  } catch (const InternalError& e) {
    return e.what();
  }
}

const Loop& loop_of(const Version& v, std::size_t k) {
  return std::get<Loop>(v.program.body.at(k).kind);
}

/// Returns true if every call that meets what `later` relies on meets what `earlier` does, which is
/// then asked in its place.
bool hides(const Version& earlier, const Version& later) {
  const auto includes = [](const auto& all, const auto& some) {
    return std::ranges::all_of(
        some, [&](const auto& one) { return std::ranges::find(all, one) != all.end(); });
  };
  return includes(later.program.strides, earlier.program.strides) &&
         includes(later.program.demands, earlier.program.demands) &&
         earlier.program.vector_bytes <= later.program.vector_bytes;
}

TEST(Schedule, Transpose) { expect_golden_schedule(compiled_op("transpose")); }

/// Each square is read, transposed and stored as a whole: its two loops can do nothing else.
TEST(Schedule, ATransposedLoopCopiesASquare) {
  const LoopProgram p =
      scheduled_by(compiled_op("transpose"), parse_steps("vectors 16, transpose n 8")).program;
  EXPECT_EQ(complaint(p), "");
  const auto with_square = [&](const auto& change) {
    LoopProgram changed = p;
    const auto inner = [](Stmt& s) -> Stmt& { return std::get<Loop>(s.kind).body.front(); };
    Stmt& rows = inner(inner(inner(inner(changed.body.front()))));
    change(std::get<Loop>(rows.kind), std::get<Loop>(inner(rows).kind));
    return complaint(changed);
  };
  const std::string no_square = kOurs + "transpose: transposed loop n_row does not copy a square";
  EXPECT_EQ(with_square([](Loop& rows, Loop&) { rows.end = Expr(3); }), no_square);
  EXPECT_EQ(with_square([](Loop&, Loop& lanes) { lanes.kind = LoopKind::serial; }), no_square);
  EXPECT_EQ(with_square([](Loop&, Loop& lanes) {
              auto& store = std::get<Store>(lanes.body.front().kind);
              store.value = op_value(MapOp::neg, {store.value}, DType::f32, DType::f32);
            }),
            no_square);
  EXPECT_EQ(with_square([](Loop& rows, Loop& lanes) { std::swap(rows.variable, lanes.variable); }),
            kOurs + "transpose: transposed loop m_lane does not copy a square");
}

TEST(Schedule, NoVersionIsHiddenByAnEarlierOne) {
  std::size_t versions = 0;
  for (const OpRecord* record : generated_ops()) {
    for (const Instance& instance : instances(*record)) {
      if (instance.dtype != DType::f32) continue;
      const Schedule s =
          schedule(compile_for_calls(instantiate(*record, instance), record->optional_outputs));
      verify(s);
      versions += s.versions.size();
      for (std::size_t k = 0; k < s.versions.size(); ++k)
        for (std::size_t later = k + 1; later < s.versions.size(); ++later)
          EXPECT_FALSE(hides(s.versions[k], s.versions[later]))
              << record->name << ": " << s.versions[k].name << " is asked before "
              << s.versions[later].name;
    }
  }
  EXPECT_GT(versions, generated_ops().size());
}

/// Interpreting the f32 schedule rounds the values kept in y; in f64 it does not.
TEST(Schedule, Softmax) {
  const Schedule s = schedule(compiled_op("softmax"));
  verify(s);
  scheduled(compiled_op("softmax", DType::f64));
  expect_golden(to_string(s) + "\n" + emit_c(s, {.function = "", .standalone = true}));
}

TEST(Schedule, KeepsNothingInAnOutputWhereOtherElementsAreStillToBeRead) {
  const auto keeps = [](const std::string& last) {
    const Schedule s = schedule(compile(program(
        "op kept\ninput x f32[R, N]\ne = exp(x)\ns = sum[1](e)\noutput y = " + last + "\n")));
    return std::ranges::any_of(s.versions.back().steps,
                               [](const TakenStep& t) { return t.step.kind == StepKind::keep; });
  };
  EXPECT_TRUE(keeps("e / s[i0 over R, N]"));
  EXPECT_FALSE(keeps("e / s[i0 over R, N] + x"));
  EXPECT_FALSE(keeps("e[i0, N - 1 - i1 over R, N] / s[i0 over R, N]"));
}
TEST(Schedule, ScatterByParts) { expect_golden_schedule(compiled_op("gather.grad")); }
TEST(Schedule, SumOverAnyAxis) { expect_golden_schedule(compiled_op("sum")); }
TEST(Schedule, Matmul) { expect_golden_schedule(compiled_op("matmul")); }
/// Each row has two products, and the second has the terms of an earlier part of its range.
TEST(Schedule, RowsOfTwoProducts) {
  expect_golden_schedule(compile(program(R"(
op mix "y[t, e] = sum_(s <= t) exp(sum_d q[t, d] * k[s, d]) * v[s, e]"
input q f32[T, D]
input k f32[S, D]
input v f32[S, E]
weights = exp(sum[2](q[i0, i2 over T, S, D] * k[i1, i2 over T, S, D]))
weighted = weights[i0, i2 over T, E, S] * v[i2, i1 over T, E, S]
output y = sum[2](where(iota(i0 - i2 over T, E, S) >= 0, weighted, 0))
)")));
}

TEST(Schedule, ElementwiseChain) {
  expect_golden_schedule(compile(program(R"(
op chain "y[n] = tanh(1/sqrt(|exp(2*x[n] + b[n]) - 1| + eps)) for each n"
param eps real = 0.5
input x f32[N]
input b f32[N]
output y = tanh(1 / sqrt(abs(exp(x * 2 + b) - 1) + $eps))
)")));
}

TEST(Schedule, KeepsTheMeaningOfEveryKindOfLoop) {
  for (const char* op : {"layer_norm", "attention", "conv2d", "avg_pool2d", "max_pool2d", "cumsum",
                         "argmax", "batch_norm_training", "group_norm", "adam", "gather", "tile"})
    scheduled(compiled_op(op));
  for (const char* op : {"conv2d", "conv2d.grad", "conv_transpose2d", "lstm_cell", "gemm.grad"})
    scheduled(compiled_op(op, DType::f64), true);
  scheduled(compiled_op("std", DType::f64));
  scheduled(compiled_op("sum", DType::i64));
}

/// Rows of b behind the last are left out by a condition on the rows of a tile alone.
TEST(Schedule, TilesReadNoOperandWhereOnlyTheOtherAxisLeavesTermsOut) {
  for (const char* term : {"a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K]",
                           "a[i0, i2 over M, N, K] * b[i1, i2 over M, N, K]"}) {
    const Schedule s =
        scheduled(compile(program(std::string("op triangle\ninput a f64[M, K]\ninput b f64[M, N]\n"
                                              "t = iota(i2 over M, N, K) <= iota(i0 over M, N, K)\n"
                                              "output y = sum[2](where(t, ") +
                                  term + ", 0))\n")),
                  true);
    EXPECT_FALSE(s.versions.empty());
  }
}

/// Row t uses the rows s < S - t of k: the tile's first row uses some behind the last of the
/// others, and no row of k is behind S.
TEST(Schedule, TilesOfRowsReadNoOperandBehindItsEnd) {
  const Schedule s = scheduled(compile(program(R"--(
op corner "y[t, e] = sum_(s + t < S) exp(sum_d q[t, d] * k[s, d]) * v[s, e]"
input q f64[T, D]
input k f64[S, D]
input v f64[M, E]
weights = exp(sum[2](q[i0, i2 over T, M, D] * k[i1, i2 over T, M, D else 0]))
weighted = weights[i0, i2 over T, E, M] * v[i2, i1 over T, E, M]
output y = sum[2](where(iota(i0 + i2 over T, E, M) < iota(S over T, E, M), weighted, 0))
)--")));
  EXPECT_FALSE(s.versions.empty());
}

/// Each tile of columns copies its part of x, in blocks of the positions that are summed.
TEST(Schedule, SumsInBlocks) {
  expect_golden_schedule(compile(program(R"(
op weights "y[o, i] = sum_{n, h, w} g[n, o, h, w] * x[n, i, h, w]"
input g f32[N, O, H, W]
input x f32[N, I, H, W]
output y = sum[2, 3, 4](g[i2, i0, i3, i4 over O, I, N, H, W] * x[i2, i1, i3, i4 over O, I, N, H, W])
)")));
}

/// The number of elements under a window does not change along the channels.
TEST(Schedule, DivisionsStandBeforeALoopInVectorsThatDoesNotChangeThem) {
  const std::string text = emit_c(scheduled(compiled_op("avg_pool2d")), {});
  const std::size_t constant = text.find("const int64_t constant = ");
  const std::size_t divided = text.find(" / (float)(double)constant;");
  ASSERT_NE(constant, std::string::npos) << text;
  ASSERT_NE(divided, std::string::npos) << text;
  EXPECT_LT(constant, text.rfind("for (int64_t c", divided));
}

/// A maximum of integers is kept in 32 bits where all that it compares fits them.
TEST(Schedule, MaximaOfIntegersThatFit32Bits) {
  const auto text_of = [](const std::string& dtype, const std::string& body) {
    return emit_c(scheduled(compile(program("op maxima\ninput x " + dtype + "[N, M]\ninput z " +
                                            dtype + "[N, M]\noutput y = " + body + "\n"))),
                  {});
  };
  const auto is_short = [&](const std::string& dtype, const std::string& body) {
    return text_of(dtype, body).find("int32_t max = ") != std::string::npos;
  };
  EXPECT_TRUE(is_short("u8", "max[1](x)"));
  EXPECT_TRUE(is_short("i32", "max[1](x)"));
  EXPECT_TRUE(is_short("i8", "max[1](x * z)"));
  EXPECT_FALSE(is_short("i32", "max[1](x + z)"));
  EXPECT_FALSE(is_short("i64", "max[1](x)"));
}

/// The rows of a tile are positions; those to which a tap of the window gives nothing skip it.
TEST(Schedule, SkipsTermsOfRowsInRegisters) {
  expect_golden_schedule(compile(program(R"(
op inputs "y[w, i] = sum_{k, o} g[(w - k*$by)/$stride, o] * f[o, k, i] where $stride divides w - k*$by"
param stride int = 1 in 1..
param by int = 1 in 1..
input g f32[T, O]
input f f32[O, K, I]
size W = (T - 1)*$stride + (K - 1)*$by + 1
there = iota((i0 - i2*$by) % $stride over W, I, K, O) == 0
read = g[(i0 - i2*$by)/$stride, i3 over W, I, K, O else 0]
output y = sum[2, 3](where(there, read * f[i3, i2, i1 over W, I, K, O], 0))
)")));
}

/// A window slides along the last axis: its positions run over adjacent elements.
TEST(Schedule, SlidesAWindow) {
  expect_golden_schedule(compile(program(R"(
op window_max "y[r, o] = max_k x[r, 2*o + k - 1]"
input x f32[R, N]
size O = (N + 1)/2
output y = max[2](x[i0, 2*i1 + i2 - 1 over R, O, 3 else -inf])
)")));
}

TEST(Schedule, FindsAPositionByLanes) { expect_golden_schedule(compiled_op("argmax")); }

/// Reading it twice would compute it twice.
TEST(Schedule, LeavesAPositionWhoseValueIsComputed) {
  for (const Version& v : scheduled(compile(program(R"(
op computed
input x f32[R, N]
output y = argmax[1](exp(x))
)")))
                              .versions)
    for (const TakenStep& taken : v.steps)
      EXPECT_NE(taken.step.kind, StepKind::positions) << taken.effect;
}

/// Whether there is such a row of w is known before the loop over its elements.
TEST(Schedule, AsksOnceForARow) {
  expect_golden_schedule(compile(program(R"(
op pick "y[i, d] = w[at[i], d], 0 where there is no such row"
input w f32[V, D]
input at i64[I]
output y = select[0](w, at[i0 over I, D])
)")));
}

TEST(Schedule, SplitsALoopThatRunsBackwards) {
  const Expr n = var("n");
  const LoopProgram p =
      loops_of(copy_spec("backwards"),
               {loop("n", size("N"),
                     {store("y", {size("N") - n - 1}, op(MapOp::add, {at("x", {n}), real(1)}))})});
  const Schedule s = schedule(p);
  verify(s);
  EXPECT_EQ(loop_of(s.versions.back(), 0).kind, LoopKind::threads);
  EXPECT_EQ(loop_of(s.versions.back(), 0).step, Expr(4096));
}

TEST(Schedule, GivesEachRoundOfAParallelLoopItsOwnRow) {
  for (const Version& v : scheduled(compiled_op("attention")).versions)
    for (const TensorDecl& t : v.program.tensors)
      if (t.role == TensorRole::temporary && !t.shape.empty()) {
        EXPECT_TRUE(t.per) << t.name;
      }
}

/// Iterations over the rest of a row begin at the outer loop's variable, as those over a block do.
TEST(Schedule, GivesEachRoundItsOwnRowWhereTheRowBeginsAtTheRound) {
  const LoopProgram p = compile(program(R"(
op rest
input q f32[T, D]
input v f32[T, E]
s = sum[2](q[i0, i2 over T, S: T, D] * q[i1, i2 over T, S: T, D])
see = iota(i1 - i0 over T, S: T) >= 0
e = s * sum[1 keep](where(see, s, 0))[i0, 0 over T, S: T]
see3 = iota(i2 - i0 over T, E, S: T) >= 0
o = sum[2](where(see3, e[i0, i2 over T, E, S: T] * v[i2, i1 over T, E, S: T], 0))
output y = o + sum[1 keep](where(see, e * e, 0))[i0, 0 over T, E]
)"));
  bool has_row = false;
  for (const Version& v : scheduled(p).versions)
    for (const TensorDecl& t : v.program.tensors)
      if (t.role == TensorRole::temporary && !t.shape.empty()) {
        has_row = true;
        EXPECT_TRUE(t.per) << to_string(v.program);
      }
  EXPECT_TRUE(has_row);
}

TEST(Schedule, LeavesALoopWhoseRoundsReadOneAnother) {
  for (const Version& v : scheduled(running_sum()).versions) {
    EXPECT_EQ(loop_of(v, 1).kind, LoopKind::serial);
  }
}

TEST(Schedule, LeavesARoundThatAllRoundsWriteTo) {
  const LoopProgram p = loops_of(
      copy_spec("last"), {loop("m", size("N"), {store("y", {var("m")}, real(0))}),
                          loop("n", size("N"), {store("y", {Expr(0)}, at("x", {var("n")}))})});
  for (const Version& v : schedule(p).versions) EXPECT_EQ(loop_of(v, 1).kind, LoopKind::serial);
}

TEST(Schedule, LeavesAnAccumulatorThatRemembersAPosition) {
  for (const Version& v : scheduled(compiled_op("argmax")).versions)
    for_each(v.program.body, [](const Stmt& s) {
      const auto* l = std::get_if<Loop>(&s.kind);
      if (l == nullptr || l->kind != LoopKind::simd) return;
      for (const Accumulator& a : l->accumulators) EXPECT_NE(a.op, ReduceOp::argmax);
    });
}

TEST(Schedule, VerifyRejectsMarksThatDependencesForbid) {
  LoopProgram p = running_sum();
  ASSERT_EQ(complaint(p), "");
  std::get<Loop>(p.body[1].kind).kind = LoopKind::simd;
  EXPECT_EQ(complaint(p), kOurs + "running: the iterations of loop n are not independent");
  std::get<Loop>(p.body[1].kind).kind = LoopKind::threads;
  EXPECT_EQ(complaint(p), kOurs + "running: the iterations of loop n are not independent");
  LoopProgram sum = compiled_op("mse");
  ASSERT_FALSE(is_marked(sum));
  for (Stmt& s : sum.body)
    if (auto* l = std::get_if<Loop>(&s.kind)) l->kind = LoopKind::threads;
  EXPECT_EQ(complaint(sum), kOurs + "mse: loop n of threads folds into an accumulator");
}

TEST(Schedule, VerifyRejectsATemporaryThatRoundsShare) {
  Schedule s = schedule(compiled_op("attention"));
  LoopProgram& p = s.versions.back().program;
  for (TensorDecl& t : p.tensors) t.per.reset();
  EXPECT_NE(complaint(p).find("share the temporary"), std::string::npos) << complaint(p);
}

}  // namespace
}  // namespace mote
