// SPDX-License-Identifier: Apache-2.0
#include "random_graph.h"

#include <algorithm>

#include "mote/runtime/status.h"
#include "mote/symbolic/gradient.h"
#include "random_nodes.h"
#include "tangents.h"

namespace mote::test {
namespace {

int some_node_count(Rng& rng) {
  const int kind = rng.below(100);
  if (kind < 45) return 1 + rng.below(8);
  if (kind < 85) return 8 + rng.below(22);
  if (kind < 97) return 30 + rng.below(50);
  return 80 + rng.below(121);
}

bool add_some(GraphBuilder& b, const NodeChoice& choice) {
  const int kind = b.rng().below(100);
  if (kind < 2) return add_pattern(b, choice);
  if (kind < 3 && choice.ops == nullptr) return add_random(b, choice);
  if (kind < 7 && choice.ops == nullptr)
    return b.rng().chance(60) ? add_loop(b, choice) : add_branches(b, choice);
  if (kind < 36) return add_drawn(b, choice);
  if (kind < 52) return add_pointwise(b, choice);
  if (kind < 60) return add_along_axis(b, choice);
  if (kind < 67) return add_chain(b, choice);
  if (kind < 73) return add_duplicate(b);
  if (kind < 81) return add_parts(b, choice);
  if (kind < 86) return add_conversion(b);
  if (kind < 95) return add_view(b);
  return add_order(b);
}

/// Chooses most values that nothing reads, and some that other nodes read too; never none.
void choose_outputs(GraphBuilder& b) {
  SymbolicGraph& g = b.graph();
  std::vector<bool> is_read(g.symbol_count());
  for (const NodeInfo& node : g.nodes())
    for (const std::uint32_t input : node.inputs)
      if (input != kNoIndex) is_read[g.symbols()[input].root] = true;
  std::vector<TensorSymbol> outputs;
  for (const TensorSymbol v : b.values()) {
    if (std::ranges::find(outputs, v) != outputs.end()) continue;
    const SymbolInfo& root = g.info(g.root(v));
    const bool is_leaf = root.kind == SymbolOrigin::input || root.kind == SymbolOrigin::constant;
    const int percent = is_leaf ? 2 : is_read[root.root] ? 12 : 75;
    if (b.rng().chance(percent)) outputs.push_back(v);
  }
  if (outputs.empty()) outputs.push_back(b.values().back());
  g.set_outputs(outputs);
}

void name_some(GraphBuilder& b) {
  SymbolicGraph& g = b.graph();
  for (std::uint32_t k = 0; k < g.symbol_count(); ++k)
    if (g.symbols()[k].name.empty() && b.rng().chance(20))
      g.rename(g.at(k), "v" + std::to_string(k));
}

/// Adds about `count` nodes, and chooses outputs and names.
SymbolicGraph grown(GraphBuilder& b, const NodeChoice& choice, int count) {
  for (int attempt = 0; attempt < 8 * count && b.graph().node_count() < std::size_t(count);
       ++attempt)
    add_some(b, choice);
  while (b.graph().node_count() == 0) add_drawn(b, choice);
  choose_outputs(b);
  name_some(b);
  return b.graph();
}

bool is_differentiable(const SymbolicGraph& g, TensorSymbol x) {
  return is_real(g.form(x).dtype) && count_of(g.form(x).shape) > 0;
}

}  // namespace

SymbolicGraph random_graph(std::uint64_t seed) {
  GraphBuilder b(seed);
  // Most graphs compute in one dtype, so that values of different nodes fit each other.
  NodeChoice choice;
  if (b.rng().chance(55))
    choice.dtype = b.rng().pick({DType::f32, DType::f32, DType::f32, DType::f64, DType::f64,
                                 DType::i32, DType::i64, DType::f16});
  const int count = some_node_count(b.rng());
  add_op(b, seed % node_ops().size(), choice.dtype);
  return grown(b, choice, count);
}

SymbolicGraph random_exact_graph(std::uint64_t seed) {
  static const std::vector<NodeOp> exact = [] {
    std::vector<NodeOp> ops;
    for (const NodeOp& op : node_ops())
      if (is_exact_op(op.op.name)) ops.push_back(op);
    return ops;
  }();
  GraphBuilder b(seed, true);
  const int count = 1 + b.rng().below(b.rng().chance(80) ? 6 : 16);
  return grown(b, {&exact, DType::f64}, count);
}

std::optional<SymbolicGraph> with_gradient(const SymbolicGraph& graph, std::uint64_t seed) {
  Rng rng(seed ^ 0x9ead);
  SymbolicGraph g = graph;
  std::vector<TensorSymbol> of;
  std::vector<TensorSymbol> wrt;
  for (const TensorSymbol output : g.outputs())
    if (is_differentiable(g, output) && rng.chance(70)) of.push_back(output);
  for (std::uint32_t k = 0; k < g.symbol_count(); ++k) {
    const SymbolOrigin kind = g.symbols()[k].kind;
    if (!is_differentiable(g, g.at(k)) || kind == SymbolOrigin::constant) continue;
    if (rng.chance(kind == SymbolOrigin::input ? 60 : 5)) wrt.push_back(g.at(k));
  }
  if (of.empty() || wrt.empty()) return std::nullopt;
  std::vector<TensorSymbol> seeds;
  for (std::size_t k = 0; k < of.size(); ++k)
    seeds.push_back(g.input("s" + std::to_string(k), {g.form(of[k]).dtype, g.form(of[k]).shape}));
  std::vector<TensorSymbol> outputs = g.outputs();
  try {
    for (const TensorSymbol x : gradient(g, of, wrt, seeds))
      if (std::ranges::find(outputs, x) == outputs.end()) outputs.push_back(x);
  } catch (const StatusError& e) {
    if (e.status() != MOTE_UNSUPPORTED) throw;
    return std::nullopt;
  }
  g.set_outputs(outputs);
  return g;
}

}  // namespace mote::test
