// SPDX-License-Identifier: Apache-2.0
// A tensor of which nodes write a part is read where it is written, and nowhere else: the rest of
// its memory holds what was there before.
#include <gtest/gtest.h>

#include <string>

#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

using test::expect_error;

/// A tensor of which the node "part" writes the first elements of each row.
struct Half {
  explicit Half(std::int64_t columns) {
    g.rename(g.copy(g.slice(x, 1, 0, columns), g.slice(t, 1, 0, columns)), "part");
  }

  SymbolicGraph g{"half"};
  TensorSymbol x = g.input("x", {DType::f32, {2, 4}});
  TensorSymbol t = g.tensor({DType::f32, {2, 4}}, "t");
  Context context;
};

TEST(PartlyWritten, ANodeThatReadsTheRestIsNamed) {
  for (const std::int64_t columns : {1, 3}) {
    Half half(columns);
    const TensorSymbol y = half.g.add("neg", {half.t});
    half.g.rename(half.g.producer(y), "whole");
    expect_error(MOTE_INVALID, "'whole' (neg) reads t, of which some elements are not written",
                 [&] { compile(half.g, {.outputs = {y}}, half.context); });
    expect_error(MOTE_INVALID, "reads t, of which some elements are not written",
                 [&] { plan_graph(half.g, {.outputs = {y}, .streams = 2}, half.context); });
  }
}

TEST(PartlyWritten, AnOutputIsWhole) {
  Half half(2);
  expect_error(MOTE_INVALID, "output t has elements that no node writes",
               [&] { compile(half.g, {.outputs = {half.t}}, half.context); });
  half.g.copy(half.g.slice(half.x, 1, 2, 2), half.g.slice(half.t, 1, 2, 2));
  compile(half.g, {.outputs = {half.t}}, half.context);
}

TEST(PartlyWritten, WhatIsWrittenIsRead) {
  Half half(3);
  const TensorSymbol y = half.g.add("neg", {half.g.slice(half.t, 1, 1, 2)});
  Executable executable = compile(half.g, {.outputs = {y}}, half.context);
  Tensor x(DType::f32, {2, 4});
  for (std::int64_t k = 0; k < 8; ++k) x.set({k / 4, k % 4}, static_cast<double>(k));
  executable.run({{half.x, x}});
  EXPECT_EQ(executable.output(y).real_at({1, 1}), -6);
  const TensorSymbol last = half.g.add("neg", {half.g.slice(half.t, 1, 2, 2)});
  expect_error(MOTE_INVALID, ", of which some elements are not written",
               [&] { compile(half.g, {.outputs = {last}}, half.context); });
}

TEST(PartlyWritten, ABodyIsCheckedToo) {
  SymbolicGraph body("body");
  const TensorSymbol a = body.input("a", {DType::f32, {2}});
  const TensorSymbol t = body.tensor({DType::f32, {2}}, "t");
  body.copy(body.slice(a, 0, 0, 1), body.slice(t, 0, 0, 1));
  const TensorSymbol next = body.add("neg", {t}), goes_on = body.tensor({DType::boolean, {}});
  body.fill(goes_on, 0);
  body.set_outputs({next, goes_on});
  SymbolicGraph g("loop");
  const TensorSymbol x = g.input("x", {DType::f32, {2}});
  const NodeSymbol loop = g.add_while(body, {x});
  Context context;
  expect_error(MOTE_INVALID, "reads t, of which some elements are not written",
               [&] { compile(g, {.outputs = {g.output(loop, 0)}}, context); });
}

}  // namespace
}  // namespace mote
