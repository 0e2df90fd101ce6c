// SPDX-License-Identifier: Apache-2.0
// How many bytes loops and branches copy, and how many regions of memory the values have that a
// loop carries: parts of tensors are carried without a copy.
#include <gtest/gtest.h>

#include "graphs/compile/control_values.h"
#include "graphs/compile/loop_values.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using test::integer;
using test::run_all_ways;
using test::vector;

TEST(Control, APartOfATensorIsCarriedWithoutACopy) {
  // Both carried values are parts of one tensor, and the second is the first one iteration later.
  const char* const text = R"(graph g(a f32[2], b f32[2], n i64[]) -> (p, q, r)
  p, q, r, _k = while (a, b, a, n) {
    graph step(a f32[2], b f32[2], r f32[2], k i64[]) -> (top, bottom, middle, next, k)
      ab = concat(a, b, axis=0)
      all = add(ab, ab)
      top = all.slice(0, 2, 2, 1)
      bottom = all.slice(0, 0, 2, 1)
      middle = all.slice(0, 1, 2, 1)
      one = constant i64[] [1]
      next = sub(k, one)
  }
)";
  for (const std::int64_t n : {0, 1, 2, 3, 6}) {
    std::size_t copied = 1;
    const std::vector<Tensor> got =
        run_all_ways(text, {{"a", vector(1, 2)}, {"b", vector(5, 2)}, {"n", integer(n)}}, &copied);
    std::vector<double> a = {1, 2}, b = {5, 6}, r = a;
    for (std::int64_t k = 0; k < n; ++k) {
      r = {2 * a[1], 2 * b[0]};
      const std::vector<double> top = {2 * b[0], 2 * b[1]};
      b = {2 * a[0], 2 * a[1]};
      a = top;
    }
    for (std::int64_t i = 0; i < 2; ++i) {
      const auto at = static_cast<std::size_t>(i);
      EXPECT_EQ(got[0].real_at({i}), a[at]) << n;
      EXPECT_EQ(got[1].real_at({i}), b[at]) << n;
      EXPECT_EQ(got[2].real_at({i}), r[at]) << n;
    }
    EXPECT_EQ(copied, 0U);
  }
}

TEST(Control, APartOfAnInputOrAConstantIsCarriedWithoutACopy) {
  // m has a half of the value that a had before, or of what never changes, or of a constant.
  for (const char* const of : {"a", "w", "c"}) {
    const std::string text = R"(graph g(a f32[4], m f32[2], w f32[4], n i64[]) -> (y, h)
  y, h, _m, _k = while (a, m, m, n, w) {
    graph step(a f32[4], m f32[2], last f32[2], k i64[], w f32[4]) -> (next, half, m, left, k)
      next = add(a, w)
      c = constant f32[4] [7, 8, 9, 10]
      half = )" + std::string(of) +
                             R"(.slice(0, 2, 2, 1)
      one = constant i64[] [1]
      left = sub(k, one)
  }
)";
    for (const std::int64_t n : {1, 2, 5}) {
      std::size_t copied = 1;
      run_all_ways(
          text, {{"a", vector(1, 4)}, {"m", vector(20, 2)}, {"w", vector(3, 4)}, {"n", integer(n)}},
          &copied);
      EXPECT_EQ(copied, 0U) << of;
    }
  }
}

TEST(Control, PartsOfWhatABranchComputesAreNotCopied) {
  const char* const text = R"(graph g(x f32[4], k i64[]) -> (a, b, c)
  a, b, c = case (k) of (x) {
    graph both(x f32[4]) -> (low, high, all)
      all = mul(x, x)
      low = all.slice(0, 0, 2, 1)
      high = all.slice(0, 2, 2, 1)
  } of (x) {
    graph one(x f32[4]) -> (low, low, x)
      y = neg(x)
      low = y.slice(0, 1, 2, 1)
  }
)";
  for (const std::int64_t k : {0, 1}) {
    std::size_t copied = 1;
    const std::vector<Tensor> got =
        run_all_ways(text, {{"x", vector(2, 4)}, {"k", integer(k)}}, &copied);
    EXPECT_EQ(got[0].real_at({0}), k == 0 ? 4 : -3);
    EXPECT_EQ(got[1].real_at({1}), k == 0 ? 25 : -4);
    EXPECT_EQ(got[2].real_at({3}), k == 0 ? 25 : 5);
    EXPECT_EQ(copied, 0U);
  }
}

TEST(Control, WhatIsConvolvedTakesTwoPlacesInTurn) {
  // The seed's example: y = conv(x, w, b), x <- y.
  const char* const text = R"(graph g(x f32[1,2,4,4], w f32[2,2,3,3], n i64[]) -> (y)
  y, _k = while (x, n, w) {
    graph step(x f32[1,2,4,4], k i64[], w f32[2,2,3,3]) -> (y, rest, k)
      y = conv2d(x, w, pads0=1, pads1=1, pads2=1, pads3=1)
      one = constant i64[] [1]
      rest = sub(k, one)
  }
)";
  Tensor x(DType::f32, {1, 2, 4, 4}), w(DType::f32, {2, 2, 3, 3});
  for (std::int64_t k = 0; k < 32; ++k) x.reshape({32}).set({k}, 0.25 * static_cast<double>(k % 7));
  for (std::int64_t k = 0; k < 36; ++k)
    w.reshape({36}).set({k}, 0.125 * static_cast<double>(k % 5 - 2));
  for (const std::int64_t n : {0, 1, 2, 3, 6}) {
    std::size_t copied = 1;
    run_all_ways(text, {{"x", x}, {"w", w}, {"n", integer(n)}}, &copied);
    EXPECT_EQ(copied, 0U);
  }
  Context context;
  const Executable e = compile(parse_graph(text), {}, context);
  std::size_t regions = 0;
  for (const CompiledBlock& block : e.report().blocks)
    regions += block.bytes == 32 * sizeof(float) && block.name.starts_with("result") ? 1 : 0;
  EXPECT_EQ(regions, 2U) << to_text(e.report());
}

TEST(Control, ADelayOfFourIterationsHasItsRegions) {
  const char* const text =
      R"(graph g(a f32[3], b f32[3], c f32[3], d f32[3], n i64[]) -> (w, x, y, z)
  w, x, y, z, left = while (a, b, c, d, n) {
    graph step(a f32[3], b f32[3], c f32[3], d f32[3], k i64[]) -> (e, a, b, c, rest, k)
      s = softmax(d, axis=0)
      e = add(s, a)
      one = constant i64[] [1]
      rest = sub(k, one)
  }
)";
  for (const std::int64_t n : {0, 1, 2, 3, 4, 5, 6, 11}) {
    std::size_t copied = 1;
    run_all_ways(text,
                 {{"a", vector(1, 3)},
                  {"b", vector(2, 3)},
                  {"c", vector(3, 3)},
                  {"d", vector(5, 3)},
                  {"n", integer(n)}},
                 &copied);
    EXPECT_EQ(copied, 0U);
  }
  // The oldest value is read before the newest is written in its place, or by the node that writes
  // it, which may be in place; a node that may not needs one region more.
  for (const auto& [newest, expected] : std::vector<std::pair<const char*, std::size_t>>{
           {"add(s, a)", 4}, {"add(d, s)", 4}, {"flip(d, axis=0)", 5}}) {
    std::string of = text;
    of.replace(of.find("add(s, a)"), 9, newest);
    Context context;
    const Executable e = compile(parse_graph(of), {}, context);
    std::size_t regions = 0;
    for (const CompiledBlock& block : e.report().blocks)
      regions += block.bytes == 3 * sizeof(float) && block.name.starts_with("result") ? 1 : 0;
    EXPECT_EQ(regions, expected) << newest << "\n" << to_text(e.report());
    const Executable apart = compile(parse_graph(of), {.in_place = false}, context);
    regions = 0;
    for (const CompiledBlock& block : apart.report().blocks)
      regions += block.bytes == 3 * sizeof(float) && block.name.starts_with("result") ? 1 : 0;
    EXPECT_EQ(regions, newest == std::string("add(s, a)") ? 4U : 5U) << newest;
  }
}

TEST(Control, ABranchThatPassesItsInputOnCopiesNothing) {
  const char* const text = R"(graph g(x f32[2], w f32[2], k i64[]) -> (p, q)
  y = relu(x)
  p, r = case (k) else (y, x) of (y, w) {
    graph one(a f32[2], b f32[2]) -> (a, b)
  } of (y, w) {
    graph two(a f32[2], b f32[2]) -> (s, c)
      s = add(a, b)
      c = constant f32[2] [7, 8]
  }
  q = add(r, y)
)";
  for (const std::int64_t k : {-2, 0, 1}) {
    std::size_t copied = 1;
    run_all_ways(text, {{"x", vector(-1, 2)}, {"w", vector(4, 2)}, {"k", integer(k)}}, &copied);
    EXPECT_EQ(copied, 0U);
  }
}

/// P5: what branches need takes the memory of the one that needs most.
TEST(Control, BranchesShareTheirMemory) {
  const auto branch = [](const std::string& extent) {
    return " of (a) {\n    graph b(a f32[1000]) -> (y)\n      h = zeros f32[" + extent +
           "]\n      part = h.slice(0, 0, 1000, 1)\n      part <- exp(a)\n      s = sum(h, "
           "axis=0)\n"
           "      y = mul(a, s)\n  }";
  };
  const auto bytes = [&](const std::vector<std::string>& extents) {
    std::string text = "graph g(k i64[], a f32[1000]) -> (y)\n  y = case (k)";
    for (const std::string& extent : extents) text += branch(extent);
    Context context;
    return plan_graph(parse_graph(text + "\n"), {}, context).arena_bytes;
  };
  EXPECT_GT(bytes({"4000"}), 4000U * sizeof(float));
  EXPECT_GT(bytes({"4000"}), bytes({"2000"}));
  EXPECT_EQ(bytes({"2000", "4000"}), bytes({"4000"}));
  EXPECT_EQ(bytes({"4000", "3999", "4000", "2000"}), bytes({"4000"}));
}

}  // namespace
}  // namespace mote
