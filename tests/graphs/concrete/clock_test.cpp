// SPDX-License-Identifier: Apache-2.0
// Tests clocks: an inner loop goes on, in memory that takes turns, where the iteration before of
// the outer loop left it.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "graphs/concrete/loops.h"
#include "mote/graph/graph.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

using test::below;
using test::expect_error;
using test::f32;
using test::filled;

/// A loop around one of m iterations, which doubles x in two regions in turn.
struct DoublingLoops {
  static constexpr std::uint64_t kClock = 7;
  Graph g;
  Tensor x0 = filled({3}, 1);
  GraphTensor init = g.constant(x0, "x0");
  GraphTensor a = g.tensor(Tensor(DType::f32, {3}), "a"),
              b = g.tensor(Tensor(DType::f32, {3}), "b");
  GraphTensor result;
  std::vector<std::pair<const void*, const void*>> locations;

  /// The regions as placeholders of a body, and the choices among them.
  struct Regions {
    explicit Regions(Graph& body)
        : init(body.placeholder(f32({3}), "x0")),
          a(body.placeholder(f32({3}), "a")),
          b(body.placeholder(f32({3}), "b")) {}
    TensorChoice before() const { return {.first = {init}, .cycle = {a, b}, .clock = kClock}; }
    GraphTensor init, a, b;
  };

  DoublingLoops(std::int64_t n, std::int64_t m) {
    Graph outer, inner;
    const Regions in_outer(outer), in_inner(inner);
    const GraphTensor x = inner.choice(in_inner.before(), "x");
    const GraphTensor y = inner.choice({.cycle = {in_inner.a, in_inner.b}, .clock = kClock}, "y");
    inner.add(Command("add"), {x, x}, {y});
    inner.call(
        [this](std::span<const Tensor> reads, std::span<const Tensor>) {
          locations.emplace_back(reads[0].data(), reads[1].data());
        },
        {x, y}, {});
    inner.find_order();
    WhileLoop loop = below(m);
    loop.counts = {kClock};
    outer.add_while(
        std::move(inner), loop,
        {{in_outer.init, in_inner.init}, {in_outer.a, in_inner.a}, {in_outer.b, in_inner.b}});
    WhileLoop around = below(n);
    around.starts = {kClock};
    const GraphNode node = g.add_while(std::move(outer), around,
                                       {{init, in_outer.init}, {a, in_outer.a}, {b, in_outer.b}});
    result = g.choice({.first = {init}, .cycle = {a, b}, .by = node, .clock = kClock}, "result");
  }
};

TEST(Clock, AnInnerLoopGoesOnWhereItWas) {
  for (const std::int64_t n : {0, 1, 2, 3})
    for (const std::int64_t m : {0, 1, 2, 3}) {
      DoublingLoops loops(n, m);
      const GraphTensor out = loops.g.tensor(Tensor(DType::f32, {3}), "out");
      loops.g.add(Command("add"), {loops.result, loops.result}, {out});
      loops.g.find_order();
      const void* at[] = {loops.g.memory(loops.a).data(), loops.g.memory(loops.b).data()};
      for (int run = 0; run < 2; ++run) {
        loops.locations.clear();
        loops.g.run();
        ASSERT_EQ(loops.locations.size(), static_cast<std::size_t>(n * m));
        for (std::size_t c = 0; c < loops.locations.size(); ++c) {
          EXPECT_EQ(loops.locations[c].first, c == 0 ? loops.x0.data() : at[(c - 1) % 2]);
          EXPECT_EQ(loops.locations[c].second, at[c % 2]);
        }
        EXPECT_EQ(loops.g.memory(out).real_at({2}), std::pow(2.0, static_cast<double>(n * m + 1)));
      }
    }
}

TEST(Clock, OneThatNoLoopStartsIsAnErrorInWords) {
  Graph g, body;
  const GraphTensor a = body.tensor(filled({3}, 1), "a"), b = body.tensor(filled({3}, 1), "b");
  body.fill(body.choice({.cycle = {a, b}, .clock = 5}, "y"), 1);
  g.add_while(std::move(body), below(1), {});
  expect_error(MOTE_INVALID, "'y' f32[3] asks for clock 5, which no loop starts", [&] { g.run(); });
  Graph h, counting;
  WhileLoop loop = below(1);
  loop.counts = {6};
  h.add_while(std::move(counting), loop, {}, {.name = "loop"});
  expect_error(MOTE_INVALID, "node 0 'loop' (while) asks for clock 6", [&] { h.run(); });
}

}  // namespace
}  // namespace mote
