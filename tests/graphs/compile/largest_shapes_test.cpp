// SPDX-License-Identifier: Apache-2.0
// Memory is planned for the largest shapes, once, and smaller ones run in it (P10); where
// shapes are not known yet, the first run plans.
#include <gtest/gtest.h>

#include <algorithm>

#include "graphs/compile/numbered.h"
#include "graphs/symbolic/error_of.h"
#include "mote/base/dlpack.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

using test::bits;
using test::error_of;
using test::numbered;

/// Two layers of n rows, whose number may be unknown, and of each row the greatest of softmax.
struct Rows {
  SymbolicGraph g{"rows"};
  TensorSymbol x;
  TensorSymbol w = g.input("w", {DType::f32, {16, 24}});
  TensorSymbol v = g.input("v", {DType::f32, {24, 8}});
  TensorSymbol y;
  TensorSymbol best;

  explicit Rows(std::int64_t n = 0) {
    x = n == 0 ? g.input("x", DType::f32) : g.input("x", {DType::f32, {n, 16}});
    const TensorSymbol h = g.add("gelu", {g.add("tanh", {g.add("matmul", {x, w})})});
    y = g.add("softmax axis=1", {g.add("matmul", {h, v})});
    best = g.add("argmax axis=1", {y});
    g.set_outputs({y, best});
  }
  std::vector<TensorBinding> bindings(std::int64_t n) const {
    const Rows known(n);
    return {{x, numbered(known.g, known.x, n)}, {w, numbered(g, w, 2)}, {v, numbered(g, v, 3)}};
  }
  /// Returns the bits of the results for n rows, node by node.
  static std::vector<std::vector<std::byte>> expected(std::int64_t n) {
    const Rows known(n);
    std::vector<std::vector<std::byte>> all;
    for (const Tensor& t : evaluate(known.g, known.bindings(n), std::vector{known.y, known.best}))
      all.push_back(bits(t));
    return all;
  }
};

struct Location {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

Location location_of(const Tensor& tensor) {
  const std::span<std::byte> memory = memory_of(tensor.dl());
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  return {begin, begin + memory.size()};
}

TEST(LargestShapes, OneMemoryServesAllThatAreSmaller) {
  for (const bool is_known : {false, true})
    for (const int streams : {1, 3}) {
      const Rows rows(is_known ? 5 : 0);
      Context context;
      Executable run = compile(rows.g,
                               {.outputs = {rows.y, rows.best},
                                .streams = streams,
                                .poison = true,
                                .largest = {{rows.x, {DType::f32, {40, 16}}}},
                                .kept_shapes = 3},
                               context);
      const std::size_t planned = run.report().arena_bytes;
      EXPECT_EQ(
          planned,
          compile(Rows(40).g, {.streams = streams, .poison = true}, context).report().arena_bytes);
      Location all{~std::uintptr_t{0}, 0};
      for (const std::int64_t n : {40, 1, 17, 39, 2, 17, 40, 3}) {
        run.run(rows.bindings(n));
        const std::vector<std::vector<std::byte>> got = {bits(run.output(rows.y)),
                                                         bits(run.output(rows.best))};
        EXPECT_EQ(got, Rows::expected(n)) << n << " rows";
        EXPECT_EQ(run.output(rows.y).extent(0), n);
        EXPECT_EQ(run.report().arena_bytes, planned);
        for (const TensorSymbol output : {rows.y, rows.best}) {
          const Location location = location_of(run.output(output));
          all = {std::min(all.begin, location.begin), std::max(all.end, location.end)};
        }
      }
      EXPECT_LE(all.end - all.begin, planned);
    }
}

TEST(LargestShapes, OfATrainingStepTheGradientsAreThoseOfItsOwnShapes) {
  const auto step_of = [](std::int64_t n) {
    Rows rows(n);
    const TensorSymbol t = rows.g.input("t", {DType::i64, {n}});
    const TensorSymbol loss = rows.g.add("cross_entropy", {rows.y, t});
    const auto grads = gradient(rows.g, {loss}, {rows.w, rows.v});
    rows.g.set_outputs({loss, grads[0], grads[1]});
    return std::pair(std::move(rows), t);
  };
  const auto labels = [](std::int64_t n) {
    const Tensor tensor(DType::i64, {n});
    for (std::int64_t k = 0; k < n; ++k) tensor.set({k}, k * 5 % 8);
    return tensor;
  };
  const auto [rows, t] = step_of(4);
  Context context;
  Executable run = compile(
      rows.g, {.largest = {{rows.x, {DType::f32, {32, 16}}}, {t, {DType::i64, {32}}}}}, context);
  const std::size_t planned = run.report().arena_bytes;
  for (const std::int64_t n : {32, 7, 1, 4}) {
    auto bindings = rows.bindings(n);
    bindings.emplace_back(t, labels(n));
    run.run(bindings);
    const auto own = step_of(n);
    auto own_bindings = own.first.bindings(n);
    own_bindings.emplace_back(own.second, labels(n));
    const std::vector<TensorSymbol> outputs = own.first.g.outputs();
    const std::vector<Tensor> expected = evaluate(own.first.g, own_bindings, outputs);
    for (std::size_t k = 0; k < outputs.size(); ++k)
      EXPECT_EQ(bits(run.output(rows.g.outputs()[k])), bits(expected[k])) << n << " rows, " << k;
    EXPECT_EQ(run.report().arena_bytes, planned);
  }
}

TEST(LargestShapes, TensorsKeepTheirPlaces) {
  const Rows rows(40);
  Context context;
  Executable run = compile(rows.g, {.largest = {{rows.x, {DType::f32, {40, 16}}}}}, context);
  const std::vector<CompiledBlock> blocks = run.report().blocks;
  run.run(rows.bindings(11));
  ASSERT_EQ(run.report().blocks.size(), blocks.size());
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    EXPECT_EQ(run.report().blocks[k].name, blocks[k].name);
    EXPECT_EQ(run.report().blocks[k].offset, blocks[k].offset);
    EXPECT_LT(run.report().blocks[k].bytes, blocks[k].bytes);
  }
}

TEST(LargestShapes, ASmallerInputThatMakesALargerTensorIsRefused) {
  SymbolicGraph g("windows");
  const TensorSymbol x = g.input("x", {DType::f32, {1, 1, 8, 8}});
  const TensorSymbol w = g.input("w", {DType::f32, {1, 1, 7, 7}});
  const TensorSymbol y = g.add("conv2d", {x, w});
  g.set_outputs({y});
  Context context;
  Executable run = compile(g, {.largest = {{w, {DType::f32, {1, 1, 7, 7}}}}}, context);
  const Tensor image(DType::f32, {1, 1, 8, 8}), one(DType::f32, {1, 1, 1, 1});
  const Tensor seven(DType::f32, {1, 1, 7, 7});
  fill(image, 1.0);
  fill(one, 1.0);
  fill(seven, 1.0);
  const std::string error = error_of([&] { run.run({{x, image}, {w, one}}); });
  EXPECT_NE(error.find("compile: windows needs 256 bytes for these shapes, and 64 are planned for "
                       "the largest ones"),
            std::string::npos)
      << error;
  run.run({{x, image}, {w, seven}});
  EXPECT_EQ(run.output(y).real_at({0, 0, 1, 1}), 49);
}

TEST(LargestShapes, WhatIsLargerIsAnErrorThatSaysBoth) {
  const Rows rows;
  Context context;
  Executable run = compile(rows.g, {.largest = {{rows.x, {DType::f32, {4, 16}}}}}, context);
  const auto bind = [&](TensorSymbol symbol, const AxisList& shape) {
    return error_of([&] { run.bind(symbol, Tensor(DType::f32, shape)); });
  };
  EXPECT_NE(bind(rows.x, {5, 16})
                .find("executable of rows: x must be at most f32[4,16], got "
                      "f32[5,16]"),
            std::string::npos)
      << bind(rows.x, {5, 16});
  EXPECT_NE(bind(rows.x, {2, 4, 16}).find("must be at most f32[4,16]"), std::string::npos);
  EXPECT_NE(bind(rows.w, {16, 25}).find("w must be at most f32[16,24]"), std::string::npos);
  run.run(rows.bindings(3));
  EXPECT_EQ(bits(run.output(rows.y)), Rows::expected(3)[0]);
}

TEST(LargestShapes, OnesThatDoNotFitTheGraphAreErrors) {
  const Rows rows;
  Rows known(3);
  Context context;
  const auto error = [&](const SymbolicGraph& g,
                         std::vector<std::pair<TensorSymbol, TensorForm>> largest) {
    return error_of([&] { compile(g, {.largest = std::move(largest)}, context); });
  };
  EXPECT_NE(error(rows.g, {{rows.w, {DType::f32, {16, 24}}}})
                .find("compile: x has no shape and no largest one"),
            std::string::npos);
  EXPECT_NE(error(rows.g, {{rows.x, {DType::f64, {3, 16}}}})
                .find("the largest form of x must be of f32, got f64[3,16]"),
            std::string::npos);
  EXPECT_NE(
      error(rows.g, {{rows.y, {DType::f32, {3, 8}}}}).find(" has a largest form and is no input"),
      std::string::npos)
      << error(rows.g, {{rows.y, {DType::f32, {3, 8}}}});
  EXPECT_NE(error(rows.g, {{rows.x, {DType::f32, {3, 17}}}}), "");
  EXPECT_NE(error(rows.g, {{known.x, {DType::f32, {3, 16}}}}), "");
}

TEST(UnknownShapes, AreKnownAtTheFirstRunAndAllIsPlanned) {
  const Rows rows;
  Context context;
  Executable run = compile(rows.g, {.outputs = {rows.y}, .streams = 2}, context);
  const std::string unknown = "executable of rows: x has no shape before a tensor is bound to it";
  EXPECT_EQ(run.report().unknown, std::vector<std::string>{"x"});
  EXPECT_NE(error_of([&] { run.output(rows.y); }).find(unknown), std::string::npos);
  EXPECT_NE(error_of([&] { run.run(); }).find(unknown), std::string::npos);
  run.cancel();
  EXPECT_NE(error_of([&] {
              run.bind(rows.x, Tensor(DType::f64, {2, 16}));
            }).find("must be f32"),
            std::string::npos);
  for (const std::int64_t n : {9, 30, 9, 1}) {
    run.run(rows.bindings(n));
    EXPECT_EQ(bits(run.output(rows.y)), Rows::expected(n)[0]);
    const Rows known(n);
    EXPECT_EQ(run.report().arena_bytes,
              compile(known.g, {.outputs = {known.y}, .streams = 2}, context).report().arena_bytes);
  }
}

TEST(UnknownShapes, WhatDoesNotDependOnThemIsPlannedBefore) {
  SymbolicGraph g("part");
  const TensorSymbol x = g.input("x", DType::f32);
  const TensorSymbol w = g.input("w", {DType::f32, {16, 32}});
  const TensorSymbol a = g.add("tanh", {w});
  const TensorSymbol b = g.add("sum axis=0", {g.add("exp", {a})});
  const TensorSymbol y = g.add("matmul", {x, a});
  g.set_outputs({y, b});
  Context context;
  Executable run = compile(g, {}, context);
  const CompileReport before = run.report();
  EXPECT_EQ(before.unknown, std::vector<std::string>{"x"});
  EXPECT_EQ(before.nodes.size(), 4U);
  std::vector<std::size_t> known;
  for (const CompiledBlock& block : before.blocks) known.push_back(block.bytes);
  EXPECT_EQ(known, (std::vector<std::size_t>{16 * 32 * 4, 16 * 32 * 4, 32 * 4}));
  EXPECT_EQ(before.arena_bytes, 2U * 16 * 32 * 4 + 32 * 4);
  const std::string line = "the shape of x is not known yet: what depends on it is not planned";
  EXPECT_NE(to_text(before).find(line), std::string::npos) << to_text(before);
  EXPECT_NE(to_json(before).find("\"unknown\": [\n    \"x\"\n  ]"), std::string::npos);
  const Tensor rows(DType::f32, {3, 16});
  fill(rows, 0.25);
  run.run({{x, rows}, {w, numbered(g, w)}});
  EXPECT_TRUE(run.report().unknown.empty());
  EXPECT_EQ(to_text(run.report()).find(line), std::string::npos);
}

TEST(UnknownShapes, ThatDoNotFitAreErrorsAndTheNextRunIsWhole) {
  const Rows rows;
  Context context;
  Executable run = compile(rows.g, {.outputs = {rows.y}}, context);
  auto bindings = rows.bindings(3);
  bindings[0].second = Tensor(DType::f32, {3, 15});
  fill(bindings[0].second, 0.0);
  EXPECT_NE(error_of([&] { run.run(bindings); }), "");
  run.run(rows.bindings(4));
  EXPECT_EQ(bits(run.output(rows.y)), Rows::expected(4)[0]);
}

}  // namespace
}  // namespace mote
