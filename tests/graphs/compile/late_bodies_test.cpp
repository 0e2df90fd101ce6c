// SPDX-License-Identifier: Apache-2.0
// Tests shapes that come after the loops and branches that they go into.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graphs/compile/control_values.h"
#include "graphs/compile/loop_values.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/text.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

using namespace test;

/// In iteration c, x becomes x·w or x + w, by c mod 2, through a loop of one iteration.
std::string late_text(const std::string& shape) {
  std::string text = R"(graph g(x f32[?], w f32[?], n i64[]) -> (z)
  y = while (x, w, n) counter {
    graph outer(x f32[?], w f32[?], n i64[], c i64[]) -> (r, left)
      left = sub(n, c)
      two = constant i64[] [2]
      k = mod(c, two)
      r = case (k) else (x) of (x, w) {
        graph once(x f32[?], w f32[?]) -> (y)
          y = while (x, w) counter {
            graph inner(x f32[?], w f32[?], c i64[]) -> (y, go)
              y = mul(x, w)
              one = constant i64[] [1]
              go = sub(one, c)
          }
      } of (x, w) {
        graph sum(a f32[?], b f32[?]) -> (c)
          c = add(a, b)
      }
  }
  z = neg(y)
)";
  for (std::size_t at = 0; (at = text.find("[?]", at)) != std::string::npos; at += shape.size())
    text.replace(at, 3, shape);
  return text;
}

TEST(LateBodies, ShapesGoIntoLoopsAndBranchesAtAnyDepth) {
  SymbolicGraph g = parse_graph(late_text("[?]"));
  verify(g);
  EXPECT_EQ(to_text(parse_graph(to_text(g))), to_text(g));
  EXPECT_FALSE(g.info(g.find("z")).has_form);
  g.set_form(g.find("x"), {DType::f32, {5}});
  g.set_form(g.find("w"), {DType::f32, {5}});
  verify(g);
  EXPECT_EQ(to_string(g.form(g.find("z"))), "f32[5]");
  EXPECT_EQ(to_text(g), to_text(parse_graph(late_text("[5]"))));
}

TEST(LateBodies, RunForEachShapeThatComes) {
  const SymbolicGraph g = parse_graph(late_text("[?]"));
  Context context;
  Executable e = compile(g, {}, context);
  EXPECT_EQ(e.report().unknown, (std::vector<std::string>{"x", "w"}));
  for (const std::int64_t count : {3, 1, 8, 3}) {
    const Inputs inputs = {{"x", vector(-1, count)}, {"w", vector(0.5, count)}, {"n", integer(3)}};
    const SymbolicGraph known = parse_graph(late_text("[" + std::to_string(count) + "]"));
    e.run(bindings_of(g, inputs));
    Numbers got;
    append(got, e.output(g.find("z")));
    EXPECT_EQ(got, values_of(known, inputs));
  }
}

TEST(LateBodies, AShapeThatWouldChangeIsAnErrorAndChangesNothing) {
  SymbolicGraph g = parse_graph(R"(graph g(x f32[?], n i64[]) -> (y)
  y = while (x, n) counter {
    graph step(x f32[?], n i64[], c i64[]) -> (y, left)
      left = sub(n, c)
      y = concat(x, x, axis=0)
  }
)");
  const std::string before = to_text(g);
  expect_error(MOTE_INVALID, "node 0 'y' (while)", [&] {
    g.set_form(g.find("x"), {DType::f32, {2}});
  });
  expect_error(MOTE_INVALID, "y is f32[4], but x is f32[2]", [&] {
    g.set_form(g.find("x"), {DType::f32, {2}});
  });
  EXPECT_EQ(to_text(g), before);
  EXPECT_FALSE(g.info(g.find("y")).has_form);
  EXPECT_NO_THROW(g.set_form(g.find("x"), {DType::f32, {0}}));
  EXPECT_EQ(to_string(g.form(g.find("y"))), "f32[0]");
}

TEST(LateBodies, ADtypeMustFitBeforeTheShapeIsKnown) {
  SymbolicGraph body("step");
  const TensorSymbol a = body.input("a", DType::f64);
  body.set_outputs({a, body.constant("go", integer(0))});
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", DType::f32);
  expect_error(MOTE_INVALID, "while: x is f32[?], but a is f64[?]",
               [&] { g.add_while(body, {x}); });
}

}  // namespace
}  // namespace mote
