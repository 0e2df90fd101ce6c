// SPDX-License-Identifier: Apache-2.0
// Tests the steps that change which iterations fill an array before others read it: outward, once,
// blocks, and tiles of rows in a loop of threads.
#include <fmt/format.h>

#include "mote/codegen/schedule.h"
#include "mote/codegen/walk.h"
#include "steps_testing.h"

namespace mote {
namespace {

using namespace test;

/// The elements that a scatter reaches depend on data along i only. All three loops over d run over
/// one part at a time.
TEST(Steps, OutwardPutsPartsAroundAScatter) {
  const LoopProgram p = compiled_op("gather.grad");
  const std::string text = to_string(after(p, "outward c2 2, threads c2_start"));
  EXPECT_NE(text.find("threads for c2_start in 0..C step 2, where C*N*R is large {\n"
                      "  for r in 0..R {\n"
                      "    for n in 0..N {\n"
                      "      for c in c2_start..min(c2_start + 2, C) {\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("for c3 in c2_start..min(c2_start + 2, C) {\n"), std::string::npos) << text;
}

TEST(Steps, OutwardIsRefusedWithTheReason) {
  const auto why = [](const LoopProgram& p, const std::string& step) {
    const std::string text = refusal(p, step);
    const std::string head = fmt::format("{}: step '{}' cannot be taken: ", p.name, step);
    EXPECT_TRUE(text.starts_with(head)) << text;
    return text.substr(std::min(head.size(), text.size()));
  };
  const LoopProgram scatter = compiled_op("gather.grad");
  EXPECT_EQ(why(compiled_op("relu"), "outward i 2"), "no loop holds it");
  EXPECT_EQ(why(scatter, "outward n 2"), "it holds a loop");
  EXPECT_EQ(why(compiled_op("sum"), "outward n 2"), "n folds, and each part would begin anew");
  EXPECT_EQ(why(compiled_op("softmax"), "outward n3 2"), "n folds, and each part would begin anew");
  const LoopProgram shifted = compile(program(R"(
op shifted
input base f64[V]
input x f64[N, D]
output y = scatter[add](base, x to i0 + i1)
)"));
  EXPECT_EQ(why(shifted, "outward d 2"), "its limits move");
}

/// Each element of y is the sum of x's row up to it.
TEST(Steps, OutwardNeedsPartsThatAreApart) {
  const Uop x = input("x", DType::f32, {"R", "N"});
  const Expr r = var("r"), n = var("n"), m = var("m");
  const Value before = guard_value({nonneg(n - 1)}, at("t", {n - 1}), 0.0);
  const LoopProgram p = loops_of(
      {"sums", "", {}, {x}, {{"y", x}}, {}, {}},
      {loop("r", size("R"),
            {loop("n", size("N"), {store("t", {n}, op(MapOp::add, {before, at("x", {r, n})}))}),
             loop("m", size("N"), {store("y", {r, m}, at("t", {m}))})})},
      {temporary("t", {size("N")})});
  EXPECT_EQ(refusal(p, "outward m 2"),
            "sums: step 'outward m 2' cannot be taken: of the iterations of m_start one may store "
            "t[n], which another reads as t[n - 1]");
}

/// s is the last element of a row: each part of n would have another one.
TEST(Steps, OutwardRepeatsNothingThatReadsAllParts) {
  const Uop x = input("x", DType::f32, {"R", "N"});
  const Expr r = var("r"), n = var("n"), m = var("m");
  const Uop last = reindex(x, {Axis("R"), Axis("N")}, {"i0", "N - 1"});
  const LoopProgram p = loops_of(
      {"last", "", {}, {x}, {{"y", last}}, {}, {}},
      {loop("r", size("R"),
            {store("s", {}, real(0)), loop("n", size("N"), {store("s", {}, at("x", {r, n}))}),
             loop("m", size("N"), {store("y", {r, m}, at("s", {}))})})},
      {temporary("s", {})});
  expect_right(p);
  EXPECT_EQ(refusal(p, "outward m 2"),
            "last: step 'outward m 2' cannot be taken: what is outside of the parts reads what all "
            "of them have written");
}

/// All threads would copy to one panel.
TEST(Steps, RowsAreNotTiledInALoopOfThreads) {
  const LoopProgram p = compile(std::make_shared<const Program>(parse_program(
      "op rows\ninput x f32[B, M, K]\ninput z f32[B, N, K]\n"
      "v = sum[2](exp(sum[3](x[i0, i1, i3 over B, M, N, K] * z[i0, i2, i3 over B, M, N, K])))\n"
      "output r = sum[2](v[i0, i2 over B, N, M] * z[i0, i1, 0 over B, N, M else 0])\n")));
  EXPECT_EQ(refusal(p, "threads b, vectors 32, tile_rows m 4"),
            "rows: step 'tile_rows m 4' cannot be taken: loop b around it has a kind already");
}

/// The rows of w, and the sums over rows and over columns that read them.
LoopProgram rows_and_columns() {
  return compile(std::make_shared<const Program>(
      parse_program("op both\ninput x f64[M, K]\ninput z f64[N, K]\n"
                    "w = exp(sum[2](x[i0, i2 over M, N, K] * z[i1, i2 over M, N, K]))\n"
                    "t = exp(sum[2](x[i1, i2 over N, M, K] * z[i0, i2 over N, M, K]))\n"
                    "output r = sum[1](w * w)\n"
                    "output c = max[1](t - z[i0, 0 over N, M]) + 1\n")));
}

TEST(Steps, OnceKeepsWhatIsComputedAlongOtherAxes) {
  const LoopProgram p = rows_and_columns();
  const LoopProgram once = after(p, "once");
  const auto products = [](const LoopProgram& q) {
    std::size_t count = 0;
    for_each(q.body, [&](const Stmt& s) {
      const auto* fold = std::get_if<Fold>(&s.kind);
      count += fold != nullptr && to_string(fold->value).starts_with("x[") ? 1U : 0U;
    });
    return count;
  };
  EXPECT_EQ(products(p), 2U) << to_string(p);
  EXPECT_EQ(products(once), 1U) << to_string(once);
  EXPECT_EQ(refusal(p, "split m 2, once"),
            "both: step 'once' cannot be taken: other steps were taken before it");
  EXPECT_EQ(refusal(compiled_op("matmul"), "once"),
            "matmul: step 'once' cannot be taken: no costly value is computed twice, along axes in "
            "different orders");
}

TEST(Steps, BlocksHoldTheRowsThatTheNextLoopsRead) {
  const LoopProgram once = after(rows_and_columns(), "once");
  std::string rows;
  for (const TensorDecl& t : once.tensors)
    if (t.role == TensorRole::temporary && t.shape.size() == 2) rows = t.name;
  ASSERT_NE(rows, "") << to_string(once);
  const std::string first = std::get<Loop>(once.body.front().kind).variable.name();
  for (const char* amount : {"1", "2", "3", "1000"}) {
    const std::string steps = "once, blocks " + first + " " + amount;
    const LoopProgram p = after(rows_and_columns(), steps);
    EXPECT_NE(to_string(p).find(rows + " f64[" + amount + ", N] in each " + first + "_block"),
              std::string::npos)
        << to_string(p);
  }
}

TEST(Steps, BlocksAreRefusedWithTheReason) {
  const auto why = [](const LoopProgram& p, const std::string& steps) {
    const std::string text = refusal(p, steps);
    return text.substr(text.find("taken: ") + 7);
  };
  EXPECT_EQ(why(compiled_op("matmul"), "blocks m 4"),
            "no loop behind it reads an array that m fills");
  EXPECT_EQ(why(running_sum(), "blocks n 4"),
            "of the iterations of n one may store t[n], which another reads as t[n - 1]");
  const Expr i = var("i"), j = var("j"), k = var("k");
  const auto two = [&](const Stmt& reader) {
    return loops_of(copy_spec("two"),
                    {loop("i", size("N"), {store("t", {i}, at("x", {i}))}), reader},
                    {temporary("t", {size("N")})});
  };
  EXPECT_EQ(
      why(two(loop("j", size("N"), {store("y", {j}, at("t", {size("N") - 1 - j}))})), "blocks i 4"),
      "a loop that reads t neither runs along i nor has a sum over it first");
  EXPECT_EQ(why(two(loop("j", size("N"), {store("y", {j}, at("t", {Expr(0)}))})), "blocks i 4"),
            "a loop that reads t neither runs along i nor has a sum over it first");
  EXPECT_EQ(
      why(two(loop("j", size("N"), {store("y", {j}, at("t", {j}))})), "threads j, blocks i 4"),
      "loop j has a kind already");
  EXPECT_EQ(
      why(compile(std::make_shared<const Program>(parse_program(
              "op rows\ninput y f64[2, 3, 1|B]\ninput z f64[3, 2]\nv = exp(z)[i0, i1 over B, 2]\n"
              "output e = sum[1]((v + sum[1 keep](v))[i0, i1 over B, 2, 3])[0, 0 over 3, 2]\n"))),
          "threads b, blocks j2 1"),
      "loop b around it has a kind already");
  EXPECT_EQ(why(compile(std::make_shared<const Program>(
                    parse_program("op pad\ninput x f64[N, K]\nt = exp(sum[1](x))\n"
                                  "output z = t * 2\noutput y = t[i0 over N + 2 else 7]\n"))),
                "blocks n 4"),
            "i may run over more than n");
  EXPECT_NE(
      to_string(after(two(loop("j", size("N"), {store("y", {j}, at("t", {j}))})), "blocks i 4")),
      "");
}

}  // namespace
}  // namespace mote
