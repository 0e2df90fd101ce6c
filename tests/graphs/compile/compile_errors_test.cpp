// SPDX-License-Identifier: Apache-2.0
// What cannot be compiled, bound or run is an error that names the symbol or node.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "graphs/compile/numbered.h"
#include "graphs/compile/sample.h"
#include "graphs/symbolic/error_of.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/evaluate.h"

namespace mote {
namespace {

using test::bits;
using test::error_of;
using test::numbered;
using test::Sample;

TEST(Compile, MisuseIsAnErrorInWords) {
  const Sample s;
  const Sample other;
  Context context;
  Executable run = compile(s.g, {}, context);
  const auto error = [&](const auto& call) {
    try {
      call();
    } catch (const StatusError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(error([&] { run.run(); }).find("'x' f32[6,8]"), std::string::npos)
      << error([&] { run.run(); });
  EXPECT_NE(error([&] { run.bind(other.x, numbered(other.g, other.x)); }).find("another graph"),
            std::string::npos);
  EXPECT_NE(error([&] {
              run.bind(s.x, Tensor(DType::f64, {6, 8}));
            }).find("x must be f32[6,8], got f64[6,8]"),
            std::string::npos);
  EXPECT_NE(error([&] {
              run.run({{s.x, Tensor(DType::f32, {8, 6})}, {s.w, numbered(s.g, s.w)}});
            }).find("matmul"),
            std::string::npos);
  EXPECT_NE(error([&] { run.bind(s.left, numbered(s.g, s.left)); }).find("neither"),
            std::string::npos);
  EXPECT_NE(error([&] { run.output(s.left); }).find("not asked for"), std::string::npos);
  EXPECT_NE(error([&] { compile(s.g, {.streams = 0}, context); }).find("at least 1"),
            std::string::npos);
  EXPECT_NE(error([&] { compile(s.g, {.bound = {s.x}}, context); }).find("no node writes it"),
            std::string::npos);
  run.run(s.bindings());
}

TEST(Compile, AfterABindingThatWasRefusedTheInputIsMissing) {
  const Sample s;
  Context context;
  Executable run = compile(s.g, {}, context);
  std::vector<std::byte> bytes(std::size_t{6} * 8 * sizeof(float) + kAlignment);
  const Tensor odd = Tensor::over(bytes.data() + 1, DType::f32, {6, 8});
  EXPECT_NE(error_of([&] {
              run.run({{s.w, numbered(s.g, s.w)}, {s.x, odd}});
            }).find("not aligned"),
            std::string::npos);
  EXPECT_NE(error_of([&] { run.run(); }).find("'x' f32[6,8]"), std::string::npos);
  run.run(s.bindings());
}

TEST(Compile, AViewIsNotBoundInPlaceOfItsTensor) {
  const Sample s;
  SymbolicGraph g = s.g;
  const TensorSymbol top = g.slice(g.at(s.x.index), 0, 0, 2);
  const TensorSymbol part = g.slice(g.at(s.sum.index), 0, 0, 2);
  g.rename(top, "top");
  g.rename(part, "part");
  Context context;
  Executable run = compile(g, {.outputs = {g.at(s.sum.index), part}}, context);
  const auto error = [](const auto& call) { return test::error_of(call); };
  const std::string refused = "executable of sample: top is neither an input nor a bound output";
  EXPECT_NE(error([&] {
              run.bind(top, Tensor(DType::f32, {2, 8}));
            }).find(refused),
            std::string::npos);
  EXPECT_NE(error([&] {
              compile(g, {.bound = {part}}, context);
            }).find("part cannot be a bound output: it is a view of "),
            std::string::npos);
  // The tensor is bound anew; what is seen through the view follows.
  for (const std::int64_t first : {0, 4}) {
    const std::vector<TensorBinding> bindings = {{g.at(s.x.index), numbered(s.g, s.x, first)},
                                                 {g.at(s.w.index), numbered(s.g, s.w, 3)}};
    run.run(bindings);
    EXPECT_EQ(bits(run.output(part)), bits(evaluate(g, bindings, std::vector{part})[0]));
  }
}

TEST(Compile, WhatNoNodeWritesIsNotRead) {
  SymbolicGraph g("dead");
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol y = g.add("relu", {x});
  const TensorSymbol z = g.add("exp", {y});
  g.rename(y, "y");
  g.rename(z, "z");
  g.set_outputs({z});
  g.remove(g.producer(y));
  Context context;
  const auto error = [&](const auto& call) { return test::error_of(call); };
  const std::string unwritten = "node 1 'z' (exp) reads y, which no node writes";
  EXPECT_NE(error([&] { compile(g, {}, context); }).find(unwritten), std::string::npos);
  EXPECT_NE(error([&] { plan_graph(g, {.streams = 2}, context); }).find(unwritten),
            std::string::npos);
  g.remove(y);
  const std::string removed = "symbol y was removed, and node 1 'z' (exp) reads it";
  EXPECT_NE(error([&] {
              evaluate(g, {{x, numbered(g, x)}}, {z});
            }).find(removed),
            std::string::npos);
  EXPECT_NE(error([&] { g.add("exp", {y}); }).find(removed), std::string::npos);
}

TEST(Compile, TensorsLargerThanAnyMemoryAreRefused) {
  SymbolicGraph g("large");
  const TensorSymbol x = g.input("x", {DType::f32, {1000000000, 1000000000}});
  g.set_outputs({g.add("relu", {x})});
  Context context;
  const auto plan = [&](const SymbolicGraph& of) {
    return test::error_of([&] { plan_graph(of, {.memory = MemoryMode::separate}, context); });
  };
  EXPECT_NE(plan(g).find("x is f32[1000000000,1000000000], of 4000000000000000000 bytes, expected "
                         "at most 281474976710656"),
            std::string::npos)
      << plan(g);
  SymbolicGraph many("many");
  TensorSymbol y = many.input("y", {DType::f32, {1 << 23, 1 << 23}});
  for (int k = 0; k < 3; ++k) y = many.add("exp", {y});
  many.set_outputs({y});
  EXPECT_NE(plan(many).find("compile: many needs 844424930131968 bytes, expected at most"),
            std::string::npos)
      << plan(many);
}

}  // namespace
}  // namespace mote
