// SPDX-License-Identifier: Apache-2.0
// Tests steps as values: that they print and parse, that those of every version give it again, and
// that one which a dependence forbids is refused with that dependence.
#include "mote/codegen/steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "mote/codegen/emit_c.h"
#include "mote/codegen/optional_outputs.h"
#include "mote/codegen/schedule.h"
#include "mote/codegen/walk.h"
#include "mote/macroops/catalogue.h"
#include "steps_testing.h"

namespace mote {
namespace {

using namespace test;

TEST(Steps, PrintWhatTheyParse) {
  const std::string text =
      "once, keep y, scan n, blocks t 64, vectors 32, tile m 8 n 32, tile_window h 1 w 8, inward c "
      "256, partial r 64, outward d 64, innermost c "
      "16, transpose n 128, interchange m, split n 4096, simd n, simd_if_adjacent n, threads m n "
      "c, adjacent n, "
      "repeat x 0, prefetch r, distribute, parts r, grid r c, row_vectors r, thread_vectors r, "
      "block_tile r 64";
  EXPECT_EQ(to_string(parse_steps(text)), text);
  EXPECT_EQ(to_string(parse_steps("")), "");
  const std::vector<Step> tile = {{StepKind::tile, {{"m", 8}, {"n", 32}}}};
  EXPECT_EQ(parse_steps("tile m 8, tile n 32"), tile);
}

TEST(Steps, ParsingSaysWhatItExpected) {
  const auto error = [](const char* text) { return error_of([&] { (void)parse_steps(text); }); };
  EXPECT_EQ(
      error("simd n, tiel m 8"),
      "schedule: line 1, column 9: unknown step 'tiel' (known: once, keep, scan, blocks, "
      "vectors, tile, tile_window, tile_rows, slide, scatter, positions, jam, prefetch, hoist, "
      "narrow, "
      "inward, partial, outward, innermost, registers, transpose, interchange, split, "
      "simd, simd_if_adjacent, simd_apart, threads, adjacent, "
      "repeat, distribute, parts, grid, row_vectors, thread_vectors, block_tile)");
  EXPECT_EQ(error("split n"),
            "schedule: line 1, column 8: expected an amount, got the end of the text");
  EXPECT_EQ(error("split n 0"),
            "schedule: line 1, column 9: split: expected an amount of at least 1, got 0");
  EXPECT_EQ(error("split n 1073741825"),
            "schedule: line 1, column 9: split: expected an amount of at most 1073741824, got "
            "1073741825");
  EXPECT_EQ(error("simd 8"), "schedule: line 1, column 6: expected a name, got '8'");
  EXPECT_EQ(error("simd n m"),
            "schedule: line 1, column 8: expected a comma between two steps, got 'm'");
  EXPECT_EQ(error("tile m 8, simd n"),
            "schedule: line 1, column 1: tile m 8: expected a second loop with an amount, of "
            "vectors");
  EXPECT_EQ(error("tile m 8"),
            "schedule: line 1, column 1: tile m 8: expected a second loop with an amount, of "
            "vectors");
  EXPECT_EQ(error("threads"),
            "schedule: line 1, column 8: expected a name, got the end of the text");
}

/// The text of the steps of each version, taken again, gives the version: for every op and
/// gradient.
TEST(Steps, OfEveryVersionGiveItAgain) {
  std::size_t versions = 0;
  for (const OpRecord* record : generated_ops())
    for (const Instance& instance : instances(*record)) {
      if (instance.dtype != DType::f32) continue;
      const LoopProgram p =
          compile_for_calls(instantiate(*record, instance), record->optional_outputs);
      const ScheduleOptions options{.may_multiply_padding = may_multiply_padding(*record)};
      for (const Version& v : schedule(p, options).versions) {
        std::vector<Step> steps;
        for (const TakenStep& taken : v.steps) steps.push_back(taken.step);
        const Version again = scheduled_by(p, parse_steps(to_string(steps)), options);
        ASSERT_EQ(to_string(again.program), to_string(v.program))
            << p.name << ", version " << v.name << ": " << to_string(steps);
        ++versions;
      }
    }
  EXPECT_GT(versions, 500U);
}

/// All of a tile is computed, also where it overlaps the one before, and each stores its own part.
TEST(Steps, RegistersComputeWholeTiles) {
  const std::string text = to_string(after(compiled_op("max_pool2d"), "registers c 4"));
  EXPECT_NE(text.find("temporary maxs f32[4]"), std::string::npos) << text;
  EXPECT_NE(text.find("demands C >= 4"), std::string::npos) << text;
  EXPECT_NE(text.find("maxs[c3] max= x[n, c3 + min(c_tile, C - 4), "), std::string::npos) << text;
  EXPECT_NE(text.find("for c4 in c_tile..min(c_tile + 4, C)"), std::string::npos) << text;
}

TEST(Steps, RegistersReadNothingThatACallInPlaceOverwrites) {
  const LoopProgram p = compile(std::make_shared<const Program>(
      parse_program("op shifted\ninput x f64[N, C, H, W]\n"
                    "output y = x - max[3](x)[i0, i1, i2 over N, C, H, W]\n")));
  EXPECT_NE(to_string(after(p, "innermost c 4")), "");
  EXPECT_NE(refusal(p, "registers c 4").find("a call in place would read what it has overwritten"),
            std::string::npos)
      << refusal(p, "registers c 4");
}

/// Vectors lie along n in x and along m in y; what squares leave over is copied in loops.
TEST(Steps, TransposeCopiesSquares) {
  const std::string text =
      to_string(after(compiled_op("transpose"), "vectors 16, transpose n 8, threads b n_start"));
  EXPECT_NE(text.find("stride 1 of x, axis 2\nstride 1 of y, axis 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("for m_square in 0..M/4 {"), std::string::npos) << text;
  EXPECT_NE(text.find("transposed for n_row in 0..4 {"), std::string::npos) << text;
  EXPECT_NE(text.find("y[b, n_row + 4*n_square + n_start, m_lane + 4*m_square] = "
                      "x[b, m_lane + 4*m_square, n_row + 4*n_square + n_start]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("for m_lane2 in 4*(M/4)..M {"), std::string::npos) << text;
  EXPECT_NE(text.find("for n_row3 in 4*(min(N - n_start, 8)/4)..min(N - n_start, 8) {"),
            std::string::npos)
      << text;
}

/// Returns the variable of the last loop in vectors.
std::string last_lanes(const LoopProgram& p) {
  std::string name;
  for_each(p.body, [&](const Stmt& s) {
    const auto* loop = std::get_if<Loop>(&s.kind);
    if (loop != nullptr && loop->kind == LoopKind::simd) name = loop->variable.name();
  });
  return name;
}

TEST(Steps, LanesOfRegistersAreNotSplit) {
  for (const auto& [op, steps] : {std::pair{"matmul", "vectors 16, tile m 2 n 4"},
                                  {"transpose", "vectors 16, transpose n 8"}}) {
    const LoopProgram p = compiled_op(op);
    const std::string split = "split " + last_lanes(after(p, steps)) + " 2";
    EXPECT_EQ(refusal(p, std::string(steps) + ", " + split),
              fmt::format("{}: step '{}' cannot be taken: it runs over the lanes of registers", op,
                          split));
  }
}

/// Each thread of both loops would have an array that the iterations of the inner one share.
TEST(Steps, ThreadsShareTilesOfTiles) {
  const LoopProgram p = compile(std::make_shared<const Program>(
      parse_program("op regression\ninput a u8[M, K]\ninput b i8[K, N]\n"
                    "v1 = i32(a[i0, i2 over M, N, K])*i32(b[i2, i1 over M, N, K])\n"
                    "output y = sum[2](where(iota(i2 over M, N, K) <= iota(i1 over M, N, K), v1, "
                    "0))\n")));
  const auto steps = parse_steps("inward m 3, split m3 2, threads m_tile n");
  const Version v = scheduled_by(p, steps);
  EXPECT_EQ(to_string(v.steps.back().step), "threads m_tile n");
  expect_same_meaning(p, v.program);
}

/// Panels of a window with a stride of 2 are copied in vectors; 16-bit reals are converted one by
/// one.
TEST(Steps, APanelTakesEverySecondElementInVectors) {
  const auto has_form = [](DType dtype) {
    const LoopProgram p = compiled_op("conv2d", dtype);
    const std::string text = emit_c(schedule(p, {.may_multiply_padding = true}), {});
    return text.find("if (sx3 == 1 && stride1 == 2) {\n#ifdef _OPENMP\n#pragma omp simd") !=
           std::string::npos;
  };
  EXPECT_TRUE(has_form(DType::f32));
  EXPECT_TRUE(has_form(DType::f64));
  EXPECT_FALSE(has_form(DType::f16));
}

TEST(Steps, TransposeDependsOnTheSizeOfVectors) {
  const Schedule s =
      schedule_by(compiled_op("transpose"), parse_steps("vectors 32, transpose n 128"));
  const std::string text = emit_c(s, {});
  EXPECT_NE(text.find("#if MOTE_VECTOR_BYTES == 32\n"), std::string::npos) << text;
  EXPECT_NE(text.find("mote_transpose_8x8_32(&x["), std::string::npos) << text;
}

TEST(Steps, TransposeIsForCopiesAlongTwoLoops) {
  const LoopProgram p = compiled_op("transpose");
  const auto why = [](const LoopProgram& of, const std::string& step) {
    return refusal(of, "vectors 16, " + step);
  };
  EXPECT_EQ(why(p, "transpose m 8"),
            "transpose: step 'transpose m 8' cannot be taken: adjacent elements of x lie along n");
  EXPECT_EQ(why(p, "transpose n 6"),
            "transpose: step 'transpose n 6' cannot be taken: expected a multiple of the 4 "
            "elements of a vector, got 6");
  EXPECT_EQ(refusal(p, "transpose n 8"),
            "transpose: step 'transpose n 8' cannot be taken: expected vectors of 2 to 16 elements "
            "before it, got 0");
  EXPECT_EQ(why(compiled_op("flip"), "transpose n 8"),
            "flip: step 'transpose n 8' cannot be taken: the last axes of the input and of the "
            "output do not lie along two loops of the nest");
  EXPECT_EQ(why(compiled_op("relu"), "transpose i 8"),
            "relu: step 'transpose i 8' cannot be taken: its nest does not only copy an input to "
            "an output");
}

TEST(Steps, ByHandReachLoopsThatNoVersionHas) {
  const LoopProgram p = compiled_op("matmul");
  EXPECT_NE(to_string(after(p, "interchange m, split n 3, threads n_start")), "");
  EXPECT_NE(to_string(after(p, "split m 2, inward n 3, simd_if_adjacent n2")), "");
}

TEST(Steps, MakeAScheduleWithAVersionForAllOtherCalls) {
  const LoopProgram p = compiled_op("matmul");
  const Schedule tiled = schedule_by(p, parse_steps("tile m 4, tile n 32"));
  ASSERT_EQ(tiled.versions.size(), 2U);
  EXPECT_EQ(tiled.versions[0].program.vector_bytes, 64);
  EXPECT_TRUE(tiled.versions[1].program.demands.empty());
  EXPECT_NE(emit_c(tiled, {}).find("by_hand"), std::string::npos);
  EXPECT_EQ(schedule_by(p, parse_steps("threads m")).versions.size(), 1U);
  const Schedule plain = schedule_by(p, parse_steps("vectors 16"));
  ASSERT_EQ(plain.versions.size(), 1U);
  EXPECT_EQ(plain.versions[0].program.vector_bytes, 0);
}

/// gcc says of an array of one element that it may be unset, which loops over a tile of one fill.
TEST(Steps, GiveATileOfOneElementAValue) {
  const Schedule s = schedule_by(compiled_op("sum"), parse_steps("inward c 1"));
  EXPECT_NE(emit_c(s, {}).find("float sums[1] = {0};"), std::string::npos) << emit_c(s, {});
}

TEST(Steps, AreRefusedWithTheDependenceThatForbidsThem) {
  const LoopProgram p = running_sum();
  for (const char* step : {"simd n", "threads n", "inward n 4"})
    EXPECT_EQ(
        refusal(p, step),
        fmt::format("running: step '{}' cannot be taken: of the iterations of n one may store "
                    "t[n], which another reads as t[n - 1]",
                    step));
  const LoopProgram last = loops_of(
      copy_spec("last"), {loop("m", size("N"), {store("y", {var("m")}, real(0))}),
                          loop("n", size("N"), {store("y", {Expr(0)}, at("x", {var("n")}))})});
  EXPECT_EQ(
      refusal(last, "threads n"),
      "last: step 'threads n' cannot be taken: of the iterations of n several may store y[0]");
  EXPECT_EQ(refusal(compiled_op("matmul"), "threads k"),
            "matmul: step 'threads k' cannot be taken: iterations of k fold into sum");
}

/// Each iteration of i fills t; as a tile of j's, that is one array for all iterations of i.
TEST(Steps, AreRefusedWhereThreadsWouldShareAnArrayOfATile) {
  const Expr i = var("i"), j = var("j"), k = var("k");
  const LoopProgram p =
      loops_of(copy_spec("tiles"),
               {loop("j", size("N"),
                     {loop("i", Expr(2),
                           {store("t", {}, at("x", {j})),
                            loop("k", Expr(1), {store("u", {i, j}, at("t", {}))})}),
                      store("y", {j}, at("u", {Expr(1), j}))})},
               {temporary("t", {}), temporary("u", {Expr(2), size("N")})});
  verify(p);
  EXPECT_EQ(refusal(p, "inward j 4, threads i"),
            "tiles: step 'threads i' cannot be taken: its iterations share the temporary ts, which "
            "is local to those of j_tile");
}

TEST(Steps, AreRefusedWithWhatIsMissing) {
  const LoopProgram p = compiled_op("matmul");
  const auto why = [&](const std::string& steps) {
    const std::string text = refusal(p, steps);
    return text.substr(text.find(": step ") + 7);
  };
  EXPECT_EQ(why("simd z"), "'simd z' cannot be taken: there is no loop z (loops: p, q, m, n, k)");
  EXPECT_EQ(why("simd n"), "'simd n' cannot be taken: it holds a loop");
  EXPECT_EQ(why("split k 4"),
            "'split k 4' cannot be taken: it folds into sum, which each part would begin anew");
  EXPECT_EQ(why("vectors 12"),
            "'vectors 12' cannot be taken: expected 8, 16, 32 or 64 bytes, got 12");
  EXPECT_EQ(why("tile m 4 n 3"), "'tile m 4 n 3' cannot be taken: 3 columns are no whole vectors");
  EXPECT_EQ(why("vectors 32, tile m 4 n 4"),
            "'tile m 4 n 4' cannot be taken: 4 columns are no whole vectors of 32 bytes");
  EXPECT_EQ(why("tile m 64 n 64"),
            "'tile m 64 n 64' cannot be taken: a tile of 64 times 64 has more than 64 vectors");
  EXPECT_EQ(why("tile m 4 k 16"),
            "'tile m 4 k 16' cannot be taken: m and k are not two loops of one nest whose "
            "iterations are independent");
  EXPECT_EQ(why("threads m, threads m"),
            "'threads m' cannot be taken: threads share the iterations of a loop around it, or in "
            "it, already");
  EXPECT_EQ(why("threads m, tile m 4 n 16"),
            "'tile m 4 n 16' cannot be taken: loop m has a kind already");
  EXPECT_EQ(why("keep y"),
            "'keep y' cannot be taken: no two loops compute the same costly value, of which y can "
            "keep one");
  EXPECT_EQ(why("scan n"),
            "'scan n' cannot be taken: in no loop of it are the terms of a sum those before or "
            "after its element");
}

TEST(Steps, AreRefusedWhereTheVersionReliesOnAnotherAxis) {
  const LoopProgram p = compiled_op("matmul");
  EXPECT_EQ(refusal(p, "adjacent n, adjacent k, adjacent m"),
            "matmul: step 'adjacent m' cannot be taken: the version relies on adjacent elements "
            "along another axis");
  EXPECT_EQ(after(p, "adjacent n, adjacent k").strides.size(), 3U);
}

/// The text has a statement for each vector, or iteration: a billion would be no text.
TEST(Steps, AreRefusedWhereTheTextWouldBeTooLong) {
  EXPECT_EQ(refusal(compiled_op("softmax"), "jam 1"),
            "softmax: step 'jam 1' cannot be taken: expected at least 2 iterations, got 1");
  EXPECT_EQ(refusal(compiled_op("softmax"), "jam 65"),
            "softmax: step 'jam 65' cannot be taken: expected at most 64 iterations, got 65");
  const LoopProgram attention = compiled_op("attention");
  const Schedule s = schedule(attention);
  const std::vector<Step> steps = steps_of(s.versions.front());
  const auto rows = std::ranges::find(steps, StepKind::tile_rows, &Step::kind);
  ASSERT_NE(rows, steps.end());
  EXPECT_EQ(refusal(attention, fmt::format("vectors 64, tile_rows {} 100", rows->targets[0].name)),
            fmt::format("attention: step 'tile_rows {} 100' cannot be taken: a tile of 100 rows "
                        "has more than 64 vectors",
                        rows->targets[0].name));
}

/// Four columns are never the 32 of a tile, and always at least one.
TEST(Steps, MakeNoTileThatNoCallFills) {
  const LoopProgram p = compile(std::make_shared<const Program>(
      parse_program("op small\ninput a f32[M, K]\ninput b f32[K, 4]\n"
                    "output y = sum[2](a[i0, i2 over M, 4, K] * b[i2, i1 over M, 4, K])\n")));
  EXPECT_EQ(refusal(p, "tile m 8 j 32"),
            "small: step 'tile m 8 j 32' cannot be taken: a tile takes more iterations than its "
            "loop has in any call");
  EXPECT_EQ(to_string(scheduled_by(p, parse_steps("vectors 16, tile m 6 j 8")).program.demands),
            "2*M >= 6");
  const std::string all = to_string(schedule(p));
  EXPECT_EQ(all.find("demands 0 <="), std::string::npos) << all;
  EXPECT_NE(all.find("version tile_16"), std::string::npos) << all;
}

/// Returns rows of two elements, and of three sums.
LoopProgram short_rows() {
  return compile(std::make_shared<const Program>(
      parse_program("op rows\ninput x f32[N, K]\ninput w f32[K, 3]\n"
                    "output y = x[i0, i1 over N, 2 else 0]\n"
                    "output z = sum[2](x[i0, i2 over N, 3, K] * w[i2, i1 over N, 3, K])\n")));
}

TEST(Steps, MakeNoPartThatHoldsAllIterations) {
  const LoopProgram p = short_rows();
  const auto why = [&](const std::string& steps) {
    const std::string text = refusal(p, steps);
    return text.substr(text.find(": step ") + 7);
  };
  EXPECT_EQ(why("split j 2"),
            "'split j 2' cannot be taken: one part would hold all of its iterations, 2");
  EXPECT_NE(to_string(after(p, "split j 1")), "");
  EXPECT_EQ(why("split n 4, split n 4"),
            "'split n 4' cannot be taken: one part would hold all of its iterations, at most 4");
  EXPECT_NE(to_string(after(p, "split n 4, split n 3")), "");
}

/// A tile that holds all iterations is no loop, and its array is local to those of the loop around
/// it; without such a loop it stays.
TEST(Steps, MakeNoLoopThatRunsOnce) {
  const std::string text = to_string(after(short_rows(), "inward j2 4"));
  EXPECT_EQ(text.find("j2_tile"), std::string::npos) << text;
  EXPECT_NE(text.find("temporary sums f32[4] in each n2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("for j23 in 0..3 {\n      sums[j23] += x[n2, k]*w[k, j23]"),
            std::string::npos)
      << text;
  const LoopProgram columns = compile(std::make_shared<const Program>(
      parse_program("op columns\ninput w f32[K, 3]\noutput y = sum[0](w)\n")));
  EXPECT_NE(to_string(after(columns, "inward i 4")).find("for i_tile in 0..3 step 4"),
            std::string::npos);
}

TEST(Steps, ShareNoPartOfFewIterations) {
  const Schedule s = schedule(short_rows());
  EXPECT_EQ(to_string(s).find("_start"), std::string::npos) << to_string(s);
  EXPECT_EQ(to_string(steps_of(s.versions.back())), "threads n, threads n2 j2");
}

TEST(Steps, AreUndoneWhereTheyAreRefused) {
  const LoopProgram p = compiled_op("softmax");
  const Version start = scheduled_by(p, {});
  EXPECT_EQ(to_string(start.program), to_string(scheduled_by(p, parse_steps("")).program));
  EXPECT_NE(refusal(p, "inward n 4"), "no error");
}

}  // namespace
}  // namespace mote
