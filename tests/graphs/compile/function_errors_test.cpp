// SPDX-License-Identifier: Apache-2.0
// Tests that an error of a caller's function names the function and its node, whatever it throws
// and whatever asks for it.
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "graphs/compile/control_values.h"
#include "graphs/compile/loop_values.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

using namespace test;

/// Code of a caller's that throws, with the error that follows.
struct Thrown {
  std::function<void()> act;
  mote_status status;
  std::string text;
};

std::vector<Thrown> all_thrown() {
  return {{[] { throw StatusError(MOTE_UNSUPPORTED, "look: got 3, expected 4"); }, MOTE_UNSUPPORTED,
           "look: got 3, expected 4"},
          {[] { throw std::out_of_range("no such row"); }, MOTE_FAILED, "no such row"},
          {[] { throw std::bad_alloc(); }, MOTE_OUT_OF_MEMORY, "there is no memory"},
          {[] { throw 7; }, MOTE_FAILED, "it threw what is no std::exception"}};
}

/// A copy of x, whose parts call these.
struct Parts {
  std::function<void()> run = [] {};
  std::function<void()> gradient = [] {};
  std::function<void()> shapes = [] {};
};
NamedFunction looking(const Parts& parts) {
  return {.name = "look",
          .run =
              [parts](std::span<const Tensor> in, std::span<const Tensor> out) {
                parts.run();
                copy(in[0], out[0]);
              },
          .gradient =
              [parts](SymbolicGraph&, const FunctionCall& call) {
                parts.gradient();
                return Symbols{call.gradients[0]};
              },
          .shapes =
              [parts](std::span<const TensorForm> in) {
                parts.shapes();
                return std::vector<AxisList>{in[0].shape};
              }};
}

SymbolicGraph graph_with(const Parts& parts, bool in_loop) {
  SymbolicGraph g("g");
  SymbolicGraph body("step");
  SymbolicGraph& inside = in_loop ? body : g;
  const TensorSymbol x = inside.input("x", {DType::f32, {2}});
  const TensorSymbol y = inside.tensor({DType::f32, {2}}, "y");
  inside.call(looking(parts), Symbols{x}, Symbols{y});
  if (in_loop) {
    const TensorSymbol c = body.input("c", {DType::i64, {}});
    body.set_outputs({y, body.add("sub", {body.constant({}, integer(2)), c})});
    const NodeSymbol loop =
        g.add_while(body, {g.input("x", {DType::f32, {2}})}, {.has_counter = true});
    g.rename(g.output(loop, 0), "y");
  }
  g.set_outputs({g.find("y")});
  return g;
}

TEST(FunctionErrors, OfARunNameTheFunctionAndItsNodes) {
  Context context({.workers = 2});
  for (const Thrown& thrown : all_thrown())
    for (const bool in_loop : {false, true}) {
      const SymbolicGraph g = graph_with({.run = thrown.act}, in_loop);
      const std::vector<TensorBinding> bindings = {{g.find("x"), vector(1, 2)}};
      const std::string around = in_loop ? "node 0 'y' (while)" : "";
      const std::string evaluated = "node 0 'y' (function look): " + thrown.text;
      const std::string compiled = "'y' (function): look: " + thrown.text;
      for (const std::string& part : {around, evaluated})
        expect_error(thrown.status, part, [&] { evaluate(g, bindings, g.outputs()); });
      for (const int streams : {1, 2}) {
        Executable e = compile(g, {.streams = streams}, context);
        for (const std::string& part : {around, compiled})
          expect_error(thrown.status, part, [&] { e.run(bindings); });
      }
    }
}

TEST(FunctionErrors, OfAGradientNameTheFunctionAndItsNodes) {
  for (const Thrown& thrown : all_thrown())
    for (const bool in_loop : {false, true}) {
      SymbolicGraph g = graph_with({.gradient = thrown.act}, in_loop);
      const std::size_t nodes = g.node_count();
      for (const std::string& part :
           {std::string(in_loop ? "node 0 'y' (while)" : "symbolic graph: "),
            "gradient of node 0 'y' (function look): " + thrown.text})
        expect_error(thrown.status, part,
                     [&] { gradient(g, Symbols{g.find("y")}, Symbols{g.find("x")}); });
      EXPECT_EQ(g.node_count(), nodes);
    }
}

TEST(FunctionErrors, OfShapesNameTheFunction) {
  for (const Thrown& thrown : all_thrown()) {
    const SymbolicGraph g = graph_with({.shapes = thrown.act}, false);
    const std::vector<std::pair<TensorSymbol, TensorForm>> other = {
        {g.find("x"), {DType::f32, {3}}}};
    expect_error(thrown.status, "those that function look gives: " + thrown.text,
                 [&] { (void)g.with_forms(other); });
  }
}

}  // namespace
}  // namespace mote
