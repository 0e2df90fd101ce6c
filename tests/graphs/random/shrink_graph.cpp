// SPDX-License-Identifier: Apache-2.0
// Takes every edit after which the graph still fails, from those that remove most to those that
// remove least, until none does.
#include "shrink_graph.h"

#include <algorithm>

#include "edit_graph.h"

namespace mote::test {
namespace {

/// Graphs of few nodes, views and elements come first.
struct GraphSize {
  std::size_t nodes = 0;
  std::size_t symbols = 0;
  std::size_t outputs = 0;
  std::size_t edges = 0;
  std::int64_t elements = 0;
  friend auto operator<=>(const GraphSize&, const GraphSize&) = default;
};

GraphSize size_of(const SymbolicGraph& g) {
  GraphSize size;
  for (const NodeInfo& node : g.nodes()) {
    size.nodes += node.removed ? 0 : 1;
    size.edges += node.after.size() + node.inputs.size();
  }
  for (const SymbolInfo& symbol : g.symbols()) {
    if (symbol.removed) continue;
    ++size.symbols;
    size.elements += element_count(symbol.form);
  }
  size.outputs = g.output_indices().size();
  return size;
}

std::vector<GraphEdit> fewer_outputs(const SymbolicGraph& g) {
  std::vector<GraphEdit> edits;
  const std::vector<std::uint32_t>& outputs = g.output_indices();
  for (const std::uint32_t output : outputs) {
    GraphEdit one;
    one.outputs = {output};
    one.is_pruned = true;
    edits.push_back(one);
  }
  for (std::size_t k = 0; k < outputs.size() && outputs.size() > 1; ++k) {
    GraphEdit rest;
    rest.outputs = outputs;
    rest.outputs->erase(rest.outputs->begin() + static_cast<std::ptrdiff_t>(k));
    edits.push_back(rest);
  }
  GraphEdit pruned;
  pruned.is_pruned = true;
  edits.push_back(pruned);
  return edits;
}

/// Makes outputs of what the outputs' nodes read, so that the last nodes can go.
std::vector<GraphEdit> earlier_outputs(const SymbolicGraph& g) {
  std::vector<GraphEdit> edits;
  for (const NodeInfo& node : g.nodes())
    for (const std::uint32_t output : node.outputs) {
      if (output == kNoIndex || g.symbols()[output].removed) continue;
      GraphEdit edit;
      edit.outputs = {output};
      edit.is_pruned = true;
      edits.push_back(edit);
    }
  return edits;
}

std::vector<GraphEdit> roots_to_inputs(const SymbolicGraph& g) {
  std::vector<GraphEdit> edits;
  for (std::uint32_t k = static_cast<std::uint32_t>(g.symbol_count()); k-- > 0;) {
    const SymbolInfo& info = g.symbols()[k];
    if (info.removed || info.kind == SymbolOrigin::view || info.kind == SymbolOrigin::input)
      continue;
    for (const bool is_pruned : {true, false}) {
      GraphEdit edit;
      edit.to_input = {k};
      edit.is_pruned = is_pruned;
      edits.push_back(edit);
    }
  }
  return edits;
}

/// Lets readers take another symbol of the same form: a node's input for its output, or an input of
/// the graph; a view's base for the view.
std::vector<GraphEdit> other_operands(const SymbolicGraph& g) {
  std::vector<GraphEdit> edits;
  const auto offer = [&](std::uint32_t from, std::uint32_t to) {
    const TensorForm& a = g.symbols()[from].form;
    const TensorForm& b = g.symbols()[to].form;
    if (from == to || a.dtype != b.dtype || !(a.shape == b.shape)) return;
    GraphEdit edit;
    edit.instead = {{from, to}};
    edit.is_pruned = true;
    edits.push_back(edit);
  };
  for (const NodeInfo& node : g.nodes())
    for (const std::uint32_t output : node.outputs)
      for (const std::uint32_t input : node.inputs)
        if (output != kNoIndex && input != kNoIndex) offer(output, input);
  for (std::uint32_t k = 0; k < g.symbol_count(); ++k) {
    const SymbolInfo& info = g.symbols()[k];
    if (info.removed) continue;
    if (info.kind == SymbolOrigin::view) offer(k, info.base);
    for (std::uint32_t other = 0; other < k; ++other)
      if (!g.symbols()[other].removed && g.symbols()[other].kind == SymbolOrigin::input)
        offer(k, other);
  }
  return edits;
}

std::vector<GraphEdit> less_order(const SymbolicGraph& g) {
  std::vector<GraphEdit> edits;
  GraphEdit none;
  for (std::uint32_t k = 0; k < g.node_count(); ++k)
    for (const std::uint32_t before : g.nodes()[k].after) {
      none.without_order.insert({before, k});
      GraphEdit one;
      one.without_order = {{before, k}};
      edits.push_back(one);
    }
  if (!edits.empty()) edits.insert(edits.begin(), none);
  return edits;
}

/// Replaces an extent by a smaller one in all inputs and roots that have it, or in one alone.
std::vector<GraphEdit> shorter_axes(const SymbolicGraph& g) {
  std::vector<GraphEdit> edits;
  std::set<std::int64_t> extents;
  const auto leaf = [&](std::uint32_t k) {
    const SymbolInfo& info = g.symbols()[k];
    return !info.removed && info.kind != SymbolOrigin::view && info.producer == kNoIndex;
  };
  for (std::uint32_t k = 0; k < g.symbol_count(); ++k)
    if (leaf(k))
      for (const std::int64_t extent : g.symbols()[k].form->shape) extents.insert(extent);
  const auto shortened = [&](std::uint32_t k, std::int64_t from, std::int64_t to) {
    AxisList shape = g.symbols()[k].form->shape;
    for (int axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] == from) shape[axis] = to;
    return TensorForm(g.symbols()[k].form->dtype, shape);
  };
  for (const std::int64_t extent : extents)
    for (const std::int64_t less : {std::int64_t{1}, extent / 2, extent - 1}) {
      if (less < 1 || less >= extent) continue;
      GraphEdit all;
      for (std::uint32_t k = 0; k < g.symbol_count(); ++k) {
        if (!leaf(k)) continue;
        const TensorForm form = shortened(k, extent, less);
        if (form.shape == g.symbols()[k].form->shape) continue;
        all.forms.insert({k, form});
        GraphEdit one;
        one.forms.insert({k, form});
        edits.push_back(one);
      }
      edits.insert(edits.begin(), all);
    }
  return edits;
}

class GraphShrinker {
 public:
  GraphShrinker(GraphFailure failure, const GraphCheck& check, int most)
      : now_(std::move(failure)), check_(check), left_(most) {}

  GraphFailure run() {
    bool progress = true;
    while (progress && left_ > 0) {
      progress = false;
      for (const auto list : {fewer_outputs, earlier_outputs, roots_to_inputs, other_operands,
                              less_order, shorter_axes})
        progress = exhaust(list) || progress;
    }
    if (now_.data.fill != FillName::integer) take(now_.graph, {FillName::integer, now_.data.seed});
    return std::move(now_);
  }

 private:
  bool exhaust(std::vector<GraphEdit> (*list)(const SymbolicGraph&)) {
    bool progress = false;
    for (bool again = true; again && left_ > 0;) {
      again = false;
      for (const GraphEdit& edit : list(now_.graph)) {
        std::optional<SymbolicGraph> smaller = edited(now_.graph, edit);
        if (!smaller || !(size_of(*smaller) < size_of(now_.graph))) continue;
        again = take(*smaller, now_.data);
        if (again || left_ <= 0) break;
      }
      progress = progress || again;
    }
    return progress;
  }

  /// Keeps the graph if it fails.
  bool take(const SymbolicGraph& graph, const GraphData& data) {
    if (left_-- <= 0) return false;
    try {
      const std::optional<std::string> what = check_(graph, data);
      if (!what) return false;
      now_.graph = graph;
      now_.data = data;
      now_.what = *what;
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  GraphFailure now_;
  const GraphCheck& check_;
  int left_;
};

}  // namespace

GraphFailure shrink(GraphFailure failure, const GraphCheck& check, int most) {
  return GraphShrinker(std::move(failure), check, most).run();
}

}  // namespace mote::test
