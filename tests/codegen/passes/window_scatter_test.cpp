// SPDX-License-Identifier: Apache-2.0
// Tests the step that lets windows add to their elements, as gradients of poolings need it.
#include <fmt/format.h>

#include "steps_testing.h"

namespace mote {
namespace {

using namespace test;

/// Returns gx[n, h] = the sum over taps of v at the windows that hold h, with `statements` before.
LoopProgram over_windows(const std::string& v, const std::string& statements = "",
                         const std::string& dtype = "f32", const std::string& behind = "") {
  return compile(
      program(fmt::format("op op\n"
                          "param k int = 2 in 1..\nparam s int = 2 in 1..\nparam d int = 1 in 1..\n"
                          "param p int = 0 in 0..\n"
                          "input gy {0}[N, O]\ninput x {0}[N, H]\n"
                          "size O = (H + 2*$p - $d*($k - 1) - 1)/$s + 1\n"
                          "{1}"
                          "hit = iota((i1 + $p - i2*$d)%$s over N, H, tap: $k)\n"
                          "output gx = sum[2](where(hit == 0, {2}, 0)){3}\n",
                          dtype, statements, v, behind)));
}

std::string at_window(const std::string& tensor) {
  return tensor + "[i0, (i1 + $p - i2*$d)/$s over N, H, tap: $k]";
}

void expect_text(const LoopProgram& p, const std::string& part) {
  EXPECT_NE(to_string(p).find(part), std::string::npos) << part << "\nis not in\n" << to_string(p);
}

TEST(WindowScatter, AWindowAddsToItsElements) {
  expect_text(after(over_windows(at_window("gy")), "scatter"),
              "  for h in 0..H {\n"
              "    gx[n, h] = 0\n"
              "  }\n"
              "  for tap in 0..$k {\n"
              "    for h_window in max(0, ($p - tap*$d - 1)/$s + 1).."
              "min(O, (H + $p - tap*$d - 1)/$s + 1) {\n"
              "      gx[n, h_window*$s + tap*$d - $p] += gy[n, h_window]\n"
              "    }\n"
              "  }\n");
}

TEST(WindowScatter, WhatAllTapsShareIsComputedOncePerWindow) {
  const LoopProgram p = over_windows(at_window("q"), "q = gy * f32(iota(i1 + 2 over N, O))\n");
  expect_text(after(p, "scatter"),
              "  for h_window_first in 0..O {\n"
              "    of_window[h_window_first] = gy[n, h_window_first]*(h_window_first + 2)\n"
              "  }\n");
}

/// A source without taps reads nothing, so what windows share may not exist.
TEST(WindowScatter, AWindowWithoutTapsReadsNothing) {
  const LoopProgram p = compile(
      program("op op\n"
              "param s int = 2 in 1..\nparam d int = 1 in 1..\n"
              "input g f32[N, O]\ninput z f32[H]\ninput u f32[K]\n"
              "hit = iota((i1 + 1 - i2*$d)%$s over N, H, K)\n"
              "e = g[i0, i1 over N, O, K] * u[K - 1 over N, O, K]\n"
              "t = e[i0, (i1 + 1 - i2*$d)/$s, i2 over N, H, K]\n"
              "output y = sum[2](where(hit == 0, t, 0))\n"
              "output w = sum[0](z) + sum[0](u)\n"));
  after(p, "scatter");
}

/// Where channels are adjacent, sums over windows run in vectors along them.
TEST(WindowScatter, GradientsOfPoolingsHaveIt) {
  for (const char* op : {"max_pool2d.grad", "avg_pool2d.grad", "max_pool3d.grad"}) {
    const Schedule s = schedule(compiled_op(op), {});
    EXPECT_EQ(s.versions.back().steps.front().step.kind, StepKind::scatter) << op;
    EXPECT_EQ(s.versions.front().name == "registers", std::string_view(op).starts_with("avg"))
        << op;
    verify(s);
    // Quotients are not whole numbers, whose sums would be exact.
    if (!std::string_view(op).starts_with("avg"))
      expect_same_meaning(compiled_op(op), s.versions.back().program);
  }
}

/// Sums of 16 bits are kept in more bits than their output has.
TEST(WindowScatter, LeavesWhatItCannotChange) {
  const std::string none =
      "op: step 'scatter' cannot be taken: no element sums over the windows that hold it alone";
  EXPECT_EQ(refusal(over_windows(at_window("gy"), "", "bf16"), "scatter"), none);
  EXPECT_EQ(refusal(over_windows(at_window("gy"), "", "i32"), "scatter"), none);
  EXPECT_EQ(refusal(over_windows(at_window("gy"), "", "f32", " * 2"), "scatter"), none);
  // x may share memory with gx, whose zeros would come before x is read.
  EXPECT_EQ(refusal(over_windows(at_window("gy") + " * x[i0, i1 over N, H, tap: $k]"), "scatter"),
            none);
  EXPECT_EQ(refusal(over_windows("x[i0, i1 over N, H, tap: $k]"), "scatter"), none);
  EXPECT_EQ(refusal(compiled_op("conv1d.grad"), "scatter").find("cannot be taken"),
            std::string("conv1d.grad: step 'scatter' ").size());
}

}  // namespace
}  // namespace mote
