// SPDX-License-Identifier: Apache-2.0
// Tests that the block evaluator gives the same bits as evaluate() and the compiled kernels: on
// random programs, on every generated op, and on the bound of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "blocks/hoist.h"
#include "blocks/trees.h"
#include "blocks_compare.h"
#include "filled_array.h"
#include "judge/reference.h"
#include "mote/generated/level.h"
#include "mote/oracle/exactness.h"
#include "mote/oracle/generate.h"
#include "mote/uops/bound.h"
#include "mote/uops/evaluate.h"
#include "random_program.h"
#include "trial.h"

namespace mote {
namespace {

using block_test::case_of;
using block_test::compare_with_evaluate;
using block_test::dense;
using block_test::difference;
using block_test::empty_outputs;
using block_test::kManyBytes;
using block_test::kWays;
using block_test::stored;
using test::filled_array;

TEST(Blocks, AgreeWithEvaluateOnRandomProgramsAndTheirBounds) {
  const char* wanted = std::getenv("MOTE_RANDOM_PROGRAMS");
  const int count = wanted != nullptr ? std::atoi(wanted) : 300;
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(count); ++seed) {
    std::vector<std::shared_ptr<const Program>> programs = {
        std::make_shared<const Program>(test::random_program(seed))};
    if (seed % 4 == 0) programs.push_back(std::make_shared<const Program>(bound(*programs[0])));
    for (const test::Trial& trial : test::make_trials(*programs[0], seed, 3)) {
      const std::vector<Array> inputs = stored(test::make_inputs(*programs[0], trial));
      for (const auto& program : programs) {
        const std::string differs = compare_with_evaluate(program, inputs, trial.params);
        ASSERT_EQ(differs, "") << "seed " << seed << " " << test::to_string(trial) << "\n"
                               << to_string(*program);
      }
    }
  }
}

/// A tree of nodes reads a constant that the schedule has folded into the negation above it.
TEST(Blocks, ReadConstantsOfWhichOnlyTreesKnow) {
  const Program p =
      parse_program("op minus\ninput x f32[N]\nthree = f32(3)\noutput y = x - three[over N]\n");
  test::Trial trial;
  trial.sizes = {{"N", 7}};
  trial.fill = test::Fill::reals;
  const auto of_bound = std::make_shared<const Program>(bound(p));
  EXPECT_EQ(compare_with_evaluate(of_bound, stored(test::make_inputs(p, trial)), {}), "")
      << to_string(*of_bound);
}

/// There are more elements than a block holds, on every axis order of a sum, a gather and a window.
TEST(Blocks, AgreeWithEvaluateBeyondABlock) {
  const auto program = std::make_shared<const Program>(parse_program(R"(op several
input x f32[A, B]
input w f32[K]
output y = sum[2](x[i0, i1 + i2 over A, B - K + 1, K] * w[i2 over A, B - K + 1, K])
output z = x[i1, i0 over B, A]
output r = sum[1](x)
output c = max[0](x)
output p = argmax[0](x)
)"));
  test::Trial trial;
  trial.sizes = {{"A", 41}, {"B", 67}, {"K", 3}};
  trial.fill = test::Fill::reals;
  trial.seed = 3;
  const std::vector<Array> inputs = stored(test::make_inputs(*program, trial));
  EXPECT_EQ(compare_with_evaluate(program, inputs, {}), "");
}

/// Counts steps in regions that leave elements out: reductions, or values that are stored.
std::int64_t masked_steps(const blocks::Plan& plan, bool stores) {
  std::int64_t count = 0;
  for (const blocks::Stage& stage : plan.stages)
    for (const blocks::Region& region : stage.regions)
      if (!region.conditions.empty())
        count += std::ranges::count_if(region.steps, [&](const blocks::Step& s) {
          return stores ? s.stores
                        : !s.gathers && std::holds_alternative<uop::Reduce>(s.node.node().kind);
        });
  return count;
}

/// Most elements are left out, by conditions on one axis, on several, and on rows.
TEST(Blocks, LeaveOutWhatDoesNotCount) {
  const auto program = std::make_shared<const Program>(parse_program(R"(op windows
param width int = 2
input x f32[A, B]
near = iota(i1 over A, B, B) <= iota(i2 over A, B, B) && iota(i2 over A, B, B) < iota(i1 + $width over A, B, B)
v = x[i0, i2 over A, B, B]
even = iota(i0 % 7 over A, B) == 3
output s = sum[2](where(near, exp(v), 0))
output m = max[2](where(near, v, -inf))
output l = min[0, 2](where(near, -v, inf))
output p = prod[2](where(near, v, 1))
output k = sum[1](where(even, f32(x > 0), 0))
output a = any[1](where(even, x > 0, false))
)"));
  test::Trial trial;
  trial.sizes = {{"A", 23}, {"B", 41}};
  trial.fill = test::Fill::reals;
  trial.seed = 5;
  const std::vector<Array> inputs = stored(test::make_inputs(*program, trial));
  const blocks::Plan mask = blocks::make_plan(*program, blocks::find_masks(*program));
  EXPECT_EQ(masked_steps(mask, false), 6);
  EXPECT_EQ(compare_with_evaluate(program, inputs, {{"width", 2}}), "");
  EXPECT_EQ(compare_with_evaluate(program, inputs, {{"width", 41}}), "");
  EXPECT_EQ(compare_with_evaluate(program, inputs, {{"width", 0}}), "");
}

/// Each row has other elements that count, and there are too many to keep a list of each.
TEST(Blocks, LeaveOutWhatDoesNotCountOfManyRows) {
  const auto program = std::make_shared<const Program>(parse_program(R"(op diagonal
input x f32[A, B]
output s = sum[1](where(iota(i1 over A, B) == iota(i0 over A, B), x, 0))
)"));
  test::Trial trial;
  trial.sizes = {{"A", 1100}, {"B", 1000}};
  trial.fill = test::Fill::reals;
  trial.seed = 7;
  const blocks::Plan mask = blocks::make_plan(*program, blocks::find_masks(*program));
  EXPECT_EQ(masked_steps(mask, false), 1);
  EXPECT_EQ(compare_with_evaluate(program, stored(test::make_inputs(*program, trial)), {}), "");
}

/// One position in 36 counts, for any extents: with 31 in one of them, equally spaced samples would
/// miss this.
TEST(Blocks, KnowHowFewElementsCount) {
  const Uop first = eq(iota("i2", {"A", "B", "C"}), 0);
  for (const std::int64_t extent : {7, 30, 31, 62, 64}) {
    const double share = blocks::chosen_share({first}, {9, extent, 36}, {});
    EXPECT_LT(share, 0.2) << extent;
  }
}

/// No window reads some of the scores: neither their sums nor the stored values are computed.
TEST(Blocks, LeaveOutUnreadValues) {
  const auto program = std::make_shared<const Program>(parse_program(R"(op scores
param width int = 2
input q f32[T, D]
input k f32[S, D]
input v f32[S, E]
score = sum[2](q[i0, i2 over T, S, D]*k[i1, i2 over T, S, D])
near = iota(i0 over T, S) <= iota(i1 over T, S) && iota(i1 over T, S) < iota(i0 + $width over T, S)
far = iota(i0 over T, E, S) <= iota(i2 over T, E, S) && iota(i2 over T, E, S) < iota(i0 + $width over T, E, S)
most = max[1](where(near, score, -inf))
e = exp(score - most[i0 over T, S])
output total = sum[1](where(near, e, 0))
output y = sum[2](where(far, e[i0, i2 over T, E, S]*v[i2, i1 over T, E, S], 0))
)"));
  test::Trial trial;
  trial.sizes = {{"T", 37}, {"S", 41}, {"D", 5}, {"E", 3}};
  trial.fill = test::Fill::reals;
  trial.seed = 11;
  const std::vector<Array> inputs = stored(test::make_inputs(*program, trial));
  const blocks::Plan mask = blocks::make_plan(*program, blocks::find_masks(*program));
  EXPECT_EQ(masked_steps(mask, false), 4);  // score, most, total, y
  EXPECT_EQ(masked_steps(mask, true), 1);   // e
  for (const std::int64_t width : {0, 1, 2, 41})
    EXPECT_EQ(compare_with_evaluate(program, inputs, {{"width", Number(width)}}), "") << width;
}

/// Values that another reader needs elsewhere too are computed everywhere.
TEST(Blocks, KeepWhatSomebodyLooksAt) {
  const auto program = std::make_shared<const Program>(parse_program(R"(op scores
input x f32[A, B, K]
score = sum[2](x)
near = iota(i1 over A, B) <= iota(i0 over A, B)
output y = sum[1](where(near, score, 0))
output column = sum[0](score)
)"));
  test::Trial trial;
  trial.sizes = {{"A", 19}, {"B", 40}, {"K", 3}};
  trial.fill = test::Fill::reals;
  trial.seed = 13;
  const blocks::Plan mask = blocks::make_plan(*program, blocks::find_masks(*program));
  EXPECT_EQ(masked_steps(mask, false), 1);  // y
  EXPECT_EQ(compare_with_evaluate(program, stored(test::make_inputs(*program, trial)), {}), "");
}

/// The weights of a column and the factors of a row are computed once for each.
TEST(Blocks, ComputeOnceWhatAnAxisDoesNotChange) {
  const auto program = std::make_shared<const Program>(parse_program(R"(op weighted
input x f32[N, H, W]
input s f32[H]
weight = exp(f32(iota(2*i2 + 1 over N, H, W))/f32(iota(W over N, H, W)))
factor = exp(s[i1 over N, H, W])
output y = x*(weight*factor)
)"));
  const Program once = blocks::hoisted(*program).program;
  std::vector<int> ranks;
  for (const Uop& u : topological(std::vector<Uop>{once.outputs[0].value}))
    if (const auto* m = std::get_if<uop::Map>(&u.node().kind); m && m->op == MapOp::exp)
      ranks.push_back(u.rank());
  EXPECT_EQ(ranks, (std::vector<int>{1, 1}));
  test::Trial trial;
  trial.sizes = {{"N", 29}, {"H", 7}, {"W", 13}};
  trial.fill = test::Fill::reals;
  trial.seed = 17;
  EXPECT_EQ(compare_with_evaluate(program, stored(test::make_inputs(*program, trial)), {}), "");
}

/// Returns the op's case with the program's bound, whose parameters have their defaults.
Case bound_case(const Case& c) {
  Case b = c;
  b.program = std::make_shared<const Program>(bound(*c.program));
  for (const ParamDecl& p : b.program->params)
    if (!b.params.contains(p.name)) b.params[p.name] = *p.default_value;
  b.outputs.clear();
  for (std::size_t k = 0; k < b.program->outputs.size(); ++k) {
    CaseTensor t = c.outputs[k / 2];
    t.dtype = b.program->outputs[k].value.dtype();
    b.outputs.push_back(std::move(t));
  }
  return b;
}

TEST(Blocks, AgreeWithEvaluateOnEveryOpAndItsBound) {
  for (const OpRecord* record : generated_ops()) {
    int run = 0;
    for (std::uint64_t position = 0; run < 2 && position < 600; ++position) {
      Case c = generate(find_target(record->name), record->dtypes.front(), 78, position);
      if (multiply_adds(*c.program, c.binding) > 300) continue;
      c.fill.kind = position % 2 == 0 ? FillKind::uniform : FillKind::integer;
      std::vector<Array> inputs;
      for (std::size_t k = 0; k < c.inputs.size(); ++k) inputs.push_back(filled_array(c, k, 4));
      for (const Case& of : {c, bound_case(c)}) {
        const std::vector<Array> expected = evaluate(*of.program, inputs, of.params);
        for (const std::optional<blocks::Way>& way : kWays) {
          std::vector<Dense> outputs = empty_outputs(of);
          const blocks::Evaluator evaluator(of.program, way);
          evaluator.run(of, dense(inputs), outputs);
          EXPECT_EQ(difference(outputs, expected), "") << of.program->name << " " << to_string(c);
          EXPECT_LT(evaluator.bytes(of), kManyBytes) << of.program->name << " " << to_string(c);
        }
      }
      ++run;
    }
    EXPECT_EQ(run, 2) << record->name;
  }
}

TEST(Blocks, AgreeWithTheGeneratedKernelsOnLargeCases) {
  for (const OpRecord* record : generated_ops()) {
    if (record->name == "dropout") continue;  // compared above
    Case c = generate(find_target(record->name), record->dtypes.front(), 79, 3);
    c.fill.kind = FillKind::uniform;
    std::vector<Array> arrays;
    for (std::size_t k = 0; k < c.inputs.size(); ++k) arrays.push_back(filled_array(c, k, 4));
    std::vector<Dense> inputs = dense(arrays);
    std::vector<Dense> expected = empty_outputs(c);
    std::vector<Dense> outputs = empty_outputs(c);
    reference_for(c)->run(c, inputs, expected);
    for (const std::optional<blocks::Way>& way : kWays) {
      blocks::Evaluator(c.program, way).run(c, inputs, outputs);
      bool equal = true;
      for (std::size_t k = 0; k < outputs.size(); ++k)
        for (std::int64_t at = 0; at < outputs[k].count(); ++at)
          equal = equal && same(outputs[k].at(at), expected[k].at(at));
      EXPECT_TRUE(equal) << to_string(c);
    }
  }
}

/// Each machine uses one level; the others must give the same results.
TEST(Blocks, TreesGiveTheSameAtEveryLevel) {
  const double values[] = {0.0,    -0.0,      1.0,      -3.25,     1e-310,
                           -1e300, 0x1p-1074, HUGE_VAL, -HUGE_VAL, std::nan("")};
  constexpr std::size_t kCount = 77;  // not a whole number of vectors
  std::mt19937_64 draw(5);
  std::vector<blocks::FusedLoop* const*> levels = {blocks::kLoops};
#if defined(__x86_64__)
  if (mote_level() >= 3) levels.push_back(blocks::kLoopsV3);
  if (mote_level() >= 4) levels.push_back(blocks::kLoopsV4);
#endif
  std::vector<std::vector<blocks::Cell>> operands(blocks::kFusedOperands);
  std::vector<const blocks::Cell*> at;
  for (std::vector<blocks::Cell>& cells : operands) {
    for (std::size_t k = 0; k < kCount; ++k)
      cells.push_back({.real = draw() % 2 == 0 ? values[draw() % std::size(values)]
                                               : std::ldexp(static_cast<double>(draw() % 64), -3)});
    at.push_back(cells.data());
  }
  for (std::size_t tree = 0; tree < blocks::kTrees; ++tree) {
    std::vector<blocks::Cell> expected(kCount), got(kCount);
    levels[0][tree](at.data(), expected.data(), kCount);
    for (blocks::FusedLoop* const* level : levels) {
      level[tree](at.data(), got.data(), kCount);
      for (std::size_t k = 0; k < kCount; ++k) {
        const bool both_nan = std::isnan(got[k].real) && std::isnan(expected[k].real);
        EXPECT_TRUE(both_nan || got[k].whole == expected[k].whole)
            << "tree " << tree << " at " << k;
      }
    }
  }
}

TEST(Blocks, MoreElementsThanCanBeCountedAreTooMuchMemory) {
  const auto program = std::make_shared<const Program>(parse_program(R"(op diagonal
input x f32[A, B]
output s = sum[1](where(iota(i1 over A, B) == iota(i0 over A, B), exp(x[i0, i1 over A, B]), 0))
)"));
  const Array x{DType::f32, {2, 2}, std::vector<Number>(4, Number(1.0))};
  Case c = case_of(program, {x}, {});
  for (const char* size : {"A", "B"})
    c.binding.values[Symbol(SymbolKind::size, size)] = std::int64_t{1} << 40;
  EXPECT_GT(blocks::Evaluator(program).bytes(c), std::size_t{1} << 40);
}

TEST(Blocks, MemoryIsThatOfTheArraysThatAreAliveTogether) {
  const auto program = std::make_shared<const Program>(
      parse_program("op softmax\ninput x f32[A, B]\nm = max[1](x)\ne = exp(x - m[i0 over A, B])\n"
                    "s = sum[1](e)\noutput y = e/s[i0 over A, B]\n"));
  const Array x{DType::f32, {4, 8}, std::vector<Number>(32, Number(1.0))};
  // The arrays are e and the rows' maxima and sums; x is read in place. When y is made, the maxima
  // are gone.
  EXPECT_EQ(blocks::Evaluator(program).bytes(case_of(program, {x}, {})), 8U * (32 + 32 + 4));
}

}  // namespace
}  // namespace mote
