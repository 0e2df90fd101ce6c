// SPDX-License-Identifier: Apache-2.0
// Each public call of a symbolic graph misused: handles of another graph, of nothing, of what was
// removed, numbers out of range. Each is an error in words, and the graph prints as before.
#include <gtest/gtest.h>

#include "error_of.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using test::error_of;

struct Case {
  const char* what;
  std::function<void(SymbolicGraph&)> call;
  std::string error;
};

void do_nothing(std::span<const Tensor>, std::span<const Tensor>) {}

/// A graph with an input, two nodes, of which the second is removed, and a removed symbol.
SymbolicGraph base() {
  SymbolicGraph g("g");
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  g.set_outputs({g.add("relu", {x})});
  const TensorSymbol y = g.add("neg", {x});
  g.remove(g.producer(y));
  g.remove(y);
  const TensorSymbol p = g.tensor({DType::f32, {4}}, "p");
  g.rename(g.slice(x, 0, 0, 2), "half");
  g.rename(g.reshape(p, {2, 2}), "square");
  return g;
}

void expect_errors(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SymbolicGraph g = base();
    const std::string before = to_text(g);
    EXPECT_EQ(error_of([&] { c.call(g); }), "symbolic graph: " + c.error) << c.what;
    EXPECT_EQ(to_text(g), before) << c.what;
    EXPECT_NO_THROW(verify(g)) << c.what;
  }
}

TEST(Misuse, OfHandles) {
  static SymbolicGraph other("other");
  static const TensorSymbol theirs = other.input("theirs", {DType::f32, {4}});
  static const NodeSymbol their_node = other.producer(other.add("relu", {theirs}));
  const std::string foreign = "symbol 0 belongs to another graph than g";
  const std::string foreign_node = "node 0 belongs to another graph than g";
  const std::string removed = "symbol t2 was removed";
  const std::string removed_node = "node 1 was removed";
  const auto x = [](SymbolicGraph& g) { return g.at(0); };
  const Command relu("relu");
  expect_errors({
      {"add", [](SymbolicGraph& g) { g.add("relu", {theirs}); }, foreign},
      {"add removed", [](SymbolicGraph& g) { g.add("relu", {g.at(2)}); }, removed},
      {"add beyond", [](SymbolicGraph& g) { g.add("relu", {g.at(99)}); }, "g has no symbol 99"},
      {"view", [](SymbolicGraph& g) { g.slice(theirs, 0, 0, 1); }, foreign},
      {"view of none", [](SymbolicGraph& g) { g.reshape({}, {4}); }, "a symbol is missing in g"},
      {"write", [&](SymbolicGraph& g) { g.write(relu, std::vector{x(g)}, std::vector{theirs}); },
       foreign},
      {"write removed",
       [&](SymbolicGraph& g) { g.write(relu, std::vector{x(g)}, std::vector{g.at(2)}); }, removed},
      {"copy", [&](SymbolicGraph& g) { g.copy(x(g), theirs); }, foreign},
      {"copy none", [&](SymbolicGraph& g) { g.copy({}, x(g)); }, "a symbol is missing in g"},
      {"convert",
       [](SymbolicGraph& g) {
         g.convert(theirs, {DType::f16, {4}});
       },
       foreign},
      {"fill", [](SymbolicGraph& g) { g.fill(theirs, 0); }, foreign},
      {"fill none", [](SymbolicGraph& g) { g.fill({}, 0); }, "a symbol is missing in g"},
      {"call",
       [](SymbolicGraph& g) {
         g.call({"f", do_nothing}, std::vector{theirs}, {});
       },
       foreign},
      {"empty call",
       [](SymbolicGraph& g) {
         g.call({"f", nullptr}, {}, {});
       },
       "function 'f' is empty"},
      {"order", [](SymbolicGraph& g) { g.order(their_node, g.node_at(0)); }, foreign_node},
      {"order removed", [](SymbolicGraph& g) { g.order(g.node_at(1), g.node_at(0)); },
       removed_node},
      {"order itself", [](SymbolicGraph& g) { g.order(g.node_at(0), g.node_at(0)); },
       "node 0 't1' (relu) would come after itself"},
      {"set_after", [](SymbolicGraph& g) { g.set_after(g.node_at(0), std::vector{their_node}); },
       foreign_node},
      {"set_outputs",
       [&](SymbolicGraph& g) {
         g.set_outputs({x(g), theirs});
       },
       foreign},
      {"info", [](SymbolicGraph& g) { (void)g.info(theirs); }, foreign},
      {"info of a node", [](SymbolicGraph& g) { (void)g.info(their_node); }, foreign_node},
      {"info beyond", [](SymbolicGraph& g) { (void)g.info(g.node_at(7)); }, "g has no node 7"},
      {"info of none", [](SymbolicGraph& g) { (void)g.info(NodeSymbol{}); },
       "a node is missing in g"},
      {"rename", [](SymbolicGraph& g) { g.rename(theirs, "z"); }, foreign},
      {"rename a node", [](SymbolicGraph& g) { g.rename(their_node, "z"); }, foreign_node},
      {"remove", [](SymbolicGraph& g) { g.remove(theirs); }, foreign},
      {"remove twice", [](SymbolicGraph& g) { g.remove(g.at(2)); }, removed},
      {"remove a node twice", [](SymbolicGraph& g) { g.remove(g.node_at(1)); }, removed_node},
      {"replace_uses", [&](SymbolicGraph& g) { g.replace_uses(x(g), theirs); }, foreign},
      {"set_input", [](SymbolicGraph& g) { g.set_input(g.node_at(0), 0, theirs); }, foreign},
      {"set_form",
       [](SymbolicGraph& g) {
         g.set_form(theirs, {DType::f32, {4}});
       },
       foreign},
      {"mark", [](SymbolicGraph& g) { g.mark_recomputed(their_node, 1); }, foreign_node},
      {"make_constant", [](SymbolicGraph& g) { g.make_constant(theirs, Tensor()); }, foreign},
      {"is_output", [](SymbolicGraph& g) { (void)g.is_output(theirs); }, foreign},
      {"producer", [](SymbolicGraph& g) { (void)g.producer(theirs); }, foreign},
      {"region", [](SymbolicGraph& g) { (void)g.region(theirs); }, foreign},
  });
}

TEST(Misuse, OfNamesAndNumbers) {
  const auto node = [](SymbolicGraph& g) { return g.node_at(0); };
  const auto x = [](SymbolicGraph& g) { return g.at(0); };
  const auto y = [](SymbolicGraph& g) { return g.at(1); };
  const auto p = [](SymbolicGraph& g) { return g.find("p"); };
  expect_errors({
      {"same name", [](SymbolicGraph& g) { g.input("x", DType::f32); },
       "two symbols of g would have the name 'x'"},
      {"same name of a view",
       [&](SymbolicGraph& g) {
         g.view(x(g), {ViewKind::reshape, {4}}, "p");
       },
       "two symbols of g would have the name 'p'"},
      {"rename to a known one", [&](SymbolicGraph& g) { g.rename(p(g), "x"); },
       "two symbols of g would have the name 'x'"},
      {"no name",
       [](SymbolicGraph& g) {
         g.input("", {DType::f32, {4}});
       },
       "an input needs a name"},
      {"rename to none", [&](SymbolicGraph& g) { g.rename(x(g), ""); }, "an input needs a name"},
      {"find", [](SymbolicGraph& g) { (void)g.find("xx"); },
       "g has no symbol 'xx', did you mean x?"},
      {"output k", [&](SymbolicGraph& g) { (void)g.output(node(g), 1); },
       "node 0 't1' (relu) has 1 outputs, asked for 1"},
      {"input k", [&](SymbolicGraph& g) { g.set_input(node(g), 1, x(g)); },
       "node 0 't1' (relu) has no input 1"},
      {"input's form", [&](SymbolicGraph& g) { g.set_input(node(g), 0, g.find("half")); },
       "input 0 of node 0 't1' (relu) is f32[4], got half f32[2]"},
      {"leave out k", [&](SymbolicGraph& g) { g.leave_out(node(g), 3); },
       "node 0 't1' (relu) has no output 3"},
      {"leave out", [&](SymbolicGraph& g) { g.leave_out(node(g), 0); },
       "output 0 of node 0 't1' (relu) cannot be left out"},
      {"view_step", [&](SymbolicGraph& g) { (void)g.view_step(x(g)); }, "x is no view"},
      {"value", [&](SymbolicGraph& g) { (void)g.value(x(g)); }, "x is no constant"},
      {"form of a node's",
       [&](SymbolicGraph& g) {
         g.set_form(y(g), {DType::f32, {4}});
       },
       "t1 is no input, so that its form follows from others"},
      {"constant without data",
       [](SymbolicGraph& g) { g.constant("c", Tensor::over(nullptr, DType::f32, {2})); },
       "constant 'c' has no data"},
      {"constant of an input", [&](SymbolicGraph& g) { g.make_constant(x(g), Tensor()); },
       "x cannot become a constant: it is an input or a view"},
      {"constant of an output", [&](SymbolicGraph& g) { g.make_constant(y(g), Tensor()); },
       "t1 cannot become a constant: node 0 't1' (relu) writes it"},
      {"constant of another form", [&](SymbolicGraph& g) { g.make_constant(p(g), Tensor()); },
       "p is f32[4], got the value f32[0]"},
      {"remove what is written", [&](SymbolicGraph& g) { g.remove(y(g)); },
       "t1 cannot be removed: node 0 't1' (relu) writes it"},
      {"copy of another shape", [&](SymbolicGraph& g) { g.copy(x(g), g.find("square")); },
       "copy of x f32[4] to square f32[2,2]: the shapes differ"},
      {"axis of a slice", [&](SymbolicGraph& g) { g.slice(x(g), 1, 0, 1); },
       "slice along axis 1 of f32[4]: it has 1 axes"},
      {"numbers of a view",
       [&](SymbolicGraph& g) {
         g.view(x(g), {ViewKind::select, {0}});
       },
       "select needs 2 numbers, got 1"},
  });
}

TEST(Misuse, OfReplacing) {
  SymbolicGraph g("g");
  const TensorSymbol x = g.input("x", {DType::f32, {2, 3}});
  const TensorSymbol y = g.add("relu", {x});
  const TensorSymbol flat = g.reshape(y, {6});
  g.set_outputs({g.add("neg", {flat}), y});
  const TensorSymbol turned = g.convert(x, {DType::f32, {2, 3}, {1, 2}});
  const TensorSymbol p = g.tensor({DType::f32, {2, 3}}, "p");
  g.fill(g.slice(p, 0, 0, 1), 1);
  g.fill(g.slice(p, 0, 1, 1), 1);
  const std::string before = to_text(g);
  EXPECT_EQ(error_of([&] { g.replace_uses(y, turned); }),
            "tensor: reshape to [6] of f32[2,3]: strides [1,2] need a copy");
  EXPECT_EQ(to_text(g), before);
  EXPECT_EQ(error_of([&] { g.replace_uses(p, y); }),
            "symbolic graph: views of p cannot be replaced: node 3 't6' (fill) writes t6");
  EXPECT_EQ(to_text(g), before);
  EXPECT_EQ(error_of([&] {
              g.replace_uses({{y.index, p.index}, {p.index, y.index}});
            }),
            "symbolic graph: symbols would replace each other in a circle");
  EXPECT_EQ(error_of([&] { g.replace_uses(y, flat); }),
            "symbolic graph: t2 f32[6] cannot replace t1 f32[2,3]");
  EXPECT_EQ(to_text(g), before);
}

TEST(Misuse, ASymbolMayBeReplacedByAViewOfIt) {
  SymbolicGraph g("g");
  const TensorSymbol x = g.input("x", {DType::f32, {1, 3}});
  const TensorSymbol y = g.add("relu", {x});
  const TensorSymbol view = g.slice(y, 0, 0, 1);
  const TensorSymbol row = g.select(y, 0, 0);
  g.set_outputs({g.add("neg", {y}), row});
  g.replace_uses(y, view);
  EXPECT_EQ(to_text(g),
            "graph g(x f32[1,3]) -> (t4, t3)\n"
            "  t1 = relu(x)\n"
            "  t2 = t1.slice(0, 0, 1, 1)\n"
            "  t4 = neg(t2)\n"
            "  t3 = t2.select(0, 0)\n");
  EXPECT_NO_THROW(verify(g));
}

}  // namespace
}  // namespace mote
