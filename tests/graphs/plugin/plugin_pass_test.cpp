// SPDX-License-Identifier: Apache-2.0
// Passes on a plug-in's ops, a row of the table of replacements and a pass that a user adds.
#include <gtest/gtest.h>

#include "graphs/plugin/exact_library.h"
#include "mote/runtime/catalogue.h"
#include "mote/runtime/registry.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/pass.h"
#include "mote/symbolic/replace.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using test::exact_context;

constexpr OpAttribute<int> kProductsOf{"products"};
constexpr NodeAttribute<std::int64_t> kProducts{"products"};

std::vector<std::string> apply_to(SymbolicGraph& g, const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (const PassReport& report :
       apply_passes(g, names, {.verify = true, .context = &exact_context()}))
    texts.push_back(report.text);
  return texts;
}

TEST(PluginPass, EqualNodesAreMergedAndConstantsFolded) {
  exact_context();
  SymbolicGraph g("same");
  const TensorSymbol x = g.input("x", {DType::f32, {2, 4}});
  const Tensor three(DType::f32, {2, 4});
  fill(three, 3.0);
  const TensorSymbol c = g.constant("c", three);
  const TensorSymbol folded = g.add("cube", {c});
  const TensorSymbol a = g.add("add", {g.add("cube", {x}), folded});
  const TensorSymbol b = g.add("mul", {g.add("cube", {x}), a});
  g.set_outputs({b});
  EXPECT_EQ(apply_to(g, {"fold", "merge"}),
            std::vector<std::string>({"fold: 1 node computed", "merge: 1 node removed"}));
  EXPECT_EQ(g.value(folded).real_at({1, 3}), 27);
}

TEST(PluginPass, OpsOfTheGroupRandomAreNeverMerged) {
  exact_context();
  Registry& registry = Registry::global();
  static mote_op_definition named;
  named = *registry.column(kDefinition).at(registry.get("cube"));
  named.name = "drawn_cube";
  register_op("drawn_cube").include("random").set(kDefinition, &named);
  SymbolicGraph g("drawn");
  const TensorSymbol x = g.input("x", {DType::f32, {2}});
  g.set_outputs({g.add("drawn_cube", {x}), g.add("drawn_cube", {x})});
  EXPECT_EQ(apply_to(g, {"merge"}), std::vector<std::string>({"merge: nothing"}));
}

TEST(PluginPass, AReplacementMakesThePluginsOp) {
  exact_context();
  register_replacement({.name = "cube",
                        .pattern = "graph p(x f32[?]) -> (y)\n  h = mul(x, x)\n  y = mul(h, x)",
                        .by = "graph r(x f32[?]) -> (y)\n  y = cube(x)",
                        .is_exact = true,
                        .reason = "cube multiplies in the same order"});
  SymbolicGraph g("power");
  const TensorSymbol x = g.input("x", {DType::f32, {5}});
  const TensorSymbol y = g.add("mul", {g.add("mul", {x, x}), x});
  g.set_outputs({y});
  const auto expected = test::reals(evaluate(g, test::small_integers(g), std::vector{y}).front());
  EXPECT_EQ(apply_to(g, {"replace"}), std::vector<std::string>({"replace: replaced 1 by cube"}));
  EXPECT_EQ(g.info(g.producer(y)).command->definition().name, std::string("cube"));
  Executable run = compile(g, {}, exact_context());
  run.run(test::small_integers(g));
  EXPECT_EQ(test::reals(run.output(y)), expected);
}

TEST(PluginPass, AUsersPassReadsAnAttributeOfThePluginsOps) {
  exact_context();
  register_op("cube").set(kProductsOf, 2);
  register_pass({.name = "count_products",
                 .summary = "Counts the products of each node.",
                 .provided = {std::string(kProducts.name)},
                 .run = [](SymbolicGraph& graph, const PassOptions&) {
                   const Column<int> of_op = graph.registry().column(kProductsOf);
                   std::vector<std::int64_t> counts(graph.node_count());
                   for (const std::uint32_t node : topological_order(graph)) {
                     const NodeInfo& info = graph.nodes()[node];
                     const int* products = info.command ? of_op.find(info.command->op()) : nullptr;
                     if (products == nullptr) continue;
                     const TensorForm& form = graph.symbols()[info.outputs[0]].form;
                     counts[node] = *products * element_count(form);
                   }
                   graph.attributes().set(kProducts, std::move(counts));
                   return std::string();
                 }});
  SymbolicGraph g("counted");
  const TensorSymbol x = g.input("x", {DType::f32, {3, 4}});
  const TensorSymbol y = g.add("cube", {x});
  g.set_outputs({g.add("neg", {y})});
  EXPECT_EQ(apply_to(g, {"count_products"}), std::vector<std::string>({"count_products: nothing"}));
  const auto& counts = g.attributes().at(kProducts);
  EXPECT_EQ(*counts.find(g.producer(y).index), 24);
  EXPECT_EQ(*counts.find(g.producer(g.outputs()[0]).index), 0);
}

/// O1: ops and attributes of two libraries are the same in either order of their loading.
TEST(PluginOrder, TwoLibrariesInEitherOrder) {
  std::vector<std::string> texts;
  for (const bool cube_first : {true, false}) {
    Registry registry;
    if (cube_first) test::register_cube(registry);
    test::register_fold_pairs(registry);
    register_catalogue(registry);
    if (!cube_first) test::register_cube(registry);
    SymbolicGraph g = parse_graph(
        "graph both(x f32[2,6]) -> (z)\n  y = cube(x)\n  f = fold_pairs(y, weight=2)\n"
        "  z = cube(f)\n",
        registry);
    const TensorSymbol x = g.find("x");
    g.set_outputs({g.find("z"), gradient(g, {g.find("z")}, {x}).front()});
    apply_passes(g, default_passes(), {.verify = true});
    texts.push_back(to_text(g));
    for (const char* op : {"cube", "fold_pairs", "add"})
      EXPECT_NE(registry.column(kDefinition).at(registry.get(op)), nullptr);
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_NE(texts[0].find("fold_pairs.grad("), std::string::npos) << texts[0];
  EXPECT_NE(texts[0].find("cube.grad("), std::string::npos) << texts[0];
}

}  // namespace
}  // namespace mote
