// SPDX-License-Identifier: Apache-2.0
// Tests pointers: a value is in a region that no other one needs, and is carried over, and given,
// where it is.
#include <gtest/gtest.h>

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

constexpr std::uint64_t kX = 1, kY = 2;

/// A loop of n iterations y = 2·x, x <- y, with two regions.
struct Doubling {
  Graph g;
  std::vector<Tensor> memory = {Tensor(DType::u8, {12}), Tensor(DType::u8, {12})};
  Tensor x0 = filled({3}, 1);
  GraphTensor init = g.constant(x0, "x0");
  GraphTensor result;

  /// The regions as tensors of a graph, and what is where the pointer shows.
  std::vector<GraphTensor> regions(Graph& graph) const {
    return {graph.tensor(memory[0]), graph.tensor(memory[1])};
  }
  static GraphTensor shown(Graph& graph, std::uint64_t pointer, std::vector<GraphTensor> all,
                           std::size_t first) {
    const GraphTensor as_f32 = graph.view(all[first], 0, f32({3}));
    return graph.choice({.first = {as_f32}, .cycle = std::move(all), .pointer = pointer});
  }

  /// The values take turns in so many of the regions, `take` is otherwise as it is given.
  explicit Doubling(std::int64_t n, std::size_t count = 2,
                    const RegionTake& take = {.pointer = kY, .held = {kX}}) {
    Graph body;
    const std::vector<GraphTensor> all = regions(body);
    const GraphTensor given = body.placeholder(f32({3}), "given");
    const GraphTensor x = shown(body, kX, all, 0), y = shown(body, kY, all, 1);
    body.add(Command("add"), {x, x}, {y});
    WhileLoop loop = below(n);
    loop.takes = {take};
    loop.takes[0].regions = {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
    loop.begins = {{kX, given}};
    loop.carries = {{kX, y}};
    const GraphNode made = g.add_while(std::move(body), loop, {{init, given}});
    const std::vector<GraphTensor> around = regions(g);
    const GraphTensor as_f32 = g.view(around[0], 0, f32({3}));
    result = g.choice({.first = {as_f32}, .cycle = around, .by = made, .pointer = kX});
  }
};

TEST(Pointer, AValueIsCarriedWhereItIs) {
  for (const std::int64_t n : {0, 1, 2, 3, 6}) {
    Doubling loop(n);
    for (int run = 0; run < 2; ++run) {
      loop.g.run();
      const Tensor got = loop.g.memory(loop.result);
      EXPECT_EQ(got.real_at({2}), static_cast<double>(1 << n)) << n;
      // The first iteration reads where the loop began, and the others take turns.
      const void* const expected = n == 0 ? loop.x0.data() : loop.memory[(n - 1) % 2].data();
      EXPECT_EQ(got.data(), expected) << n;
    }
  }
}

TEST(Pointer, MistakesAreErrors) {
  Graph g;
  const GraphTensor x = g.tensor(filled({3}, 1), "x");
  g.choice({.first = {x}, .pointer = 5}, "nowhere");
  const GraphTensor y = g.tensor(filled({3}, 1), "y");
  g.add(Command("neg"), {x}, {y});
  expect_error(MOTE_INVALID, "asks for pointer 5, which no loop and no case..of moves",
               [&] { g.run(); });
  Doubling one(2, 1);
  expect_error(MOTE_INVALID, "all 1 regions that pointer 2 may take are held",
               [&] { one.g.run(); });
  Doubling beyond(2, 2, {.pointer = kY, .held = {kX}, .begin = 4});
  expect_error(MOTE_INVALID, "pointer 2 takes regions of 12 bytes,", [&] { beyond.g.run(); });
  expect_error(MOTE_INVALID, "needs 16", [&] { beyond.g.run(); });
  Doubling below_zero(2, 2, {.pointer = kY, .held = {kX}, .begin = -4});
  expect_error(MOTE_INVALID, "pointer 2 takes regions from byte -4 on",
               [&] { below_zero.g.run(); });
  Doubling unknown(2, 2, {.pointer = kY, .held = {kX, 9}});
  expect_error(
      MOTE_INVALID,
      "pointer 2 takes regions that pointer 9 does not show, which no loop and no case..of "
      "moves",
      [&] { unknown.g.run(); });
  Graph around, body;
  WhileLoop loop = below(1);
  loop.takes = {{.pointer = kY, .regions = {body.tensor(filled({3}, 1), "floats")}, .held = {}}};
  expect_error(MOTE_INVALID, "add_while: a region must be u8[n], got", [&] {
    around.add_while(std::move(body), loop, std::initializer_list<OuterTensor>{});
  });
}

}  // namespace
}  // namespace mote
