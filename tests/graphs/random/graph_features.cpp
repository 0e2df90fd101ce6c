// SPDX-License-Identifier: Apache-2.0
#include "graph_features.h"

#include <algorithm>
#include <set>

#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "runtime/drawn_calls.h"

namespace mote::test {
namespace {

using Features = std::set<std::string>;

void add_features_of_command(const SymbolicGraph& g, const NodeInfo& node, Features& found) {
  const mote_op_definition& op = node.command->definition();
  const std::string name = op.name;
  found.insert("op " + name);
  if (name.ends_with(".grad")) found.insert("gradient op");
  if (std::string_view(op.family) == "random") found.insert("random op");
  if (node.command->axis()) found.insert("axis");
  if (op.pair_count > 0) found.insert("op with an in-place pair");
  if (std::ranges::count(node.inputs, kNoIndex) > 0) found.insert("left-out input");
  if (std::ranges::count(node.outputs, kNoIndex) > 0) found.insert("left-out output");
  if (node.outputs.size() > 1) found.insert("several outputs");
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (node.inputs[k] == kNoIndex) continue;
    if (std::ranges::count(node.inputs, node.inputs[k]) > 1) found.insert("operand used twice");
    const TensorForm& form = g.symbols()[node.inputs[k]].form;
    if (form.strides != TensorForm(form.dtype, form.shape).strides) found.insert("strided operand");
  }
}

/// Adds what loops carry over, and branches give, whose location only the run decides.
void add_features_of_results(const ControlInfo& control, Features& found) {
  for (const SymbolicGraph& graph : control.graphs)
    for (std::size_t k = 0; k < result_count(control); ++k) {
      const std::uint32_t output = graph.output_indices()[k];
      const std::uint32_t root = graph.symbols()[output].root;
      if (control.has_counter && root == input_indices(graph).back())
        found.insert("loop that carries its counter");
      const std::uint32_t by = graph.symbols()[root].producer;
      if (by == kNoIndex || graph.nodes()[by].kind != NodeKind::control) continue;
      found.insert(std::string(control.is_loop ? "loop that carries" : "branch that gives") +
                   " what " + (graph.nodes()[by].control->is_loop ? "a loop" : "a branch") +
                   " inside gives");
      if (output != root) found.insert("part of what a loop or a branch inside gives");
    }
}

/// `depth`: how many loops and branches the node is in, itself included.
void add_features_of_control(const NodeInfo& node, Features& found, int depth) {
  const ControlInfo& control = *node.control;
  found.insert(control.is_loop ? "loop" : "branches");
  if (depth > 1) found.insert(control.is_loop ? "loop inside" : "branches inside");
  if (depth > 2) found.insert("three levels");
  if (control.has_counter) found.insert("loop with a counter");
  const SymbolicGraph& body = control.graphs[0];
  if (control.is_loop) {
    const std::uint32_t by = body.symbols()[body.output_indices().back()].producer;
    if (by != kNoIndex && body.nodes()[by].kind == NodeKind::control)
      found.insert("loop whose condition a loop or branches give");
  }
  add_features_of_results(control, found);
  const std::string& name = control.graphs[0].name();
  if (name.starts_with("times_")) found.insert("loop: " + name);
  if (!control.is_loop && node.inputs[1] == kNoIndex)
    found.insert("branches without another value");
  for (const SymbolicGraph& sub : control.graphs)
    for (const NodeInfo& inner : sub.nodes())
      if (!inner.removed && inner.kind == NodeKind::control)
        add_features_of_control(inner, found, depth + 1);
}

void add_features_of_node(const SymbolicGraph& g, const NodeInfo& node, Features& found) {
  switch (node.kind) {
    case NodeKind::command:
      add_features_of_command(g, node, found);
      break;
    case NodeKind::copy:
      found.insert(g.symbols()[node.inputs[0]].form->dtype ==
                           g.symbols()[node.outputs[0]].form->dtype
                       ? "copy"
                       : "conversion");
      break;
    case NodeKind::fill:
      found.insert("fill");
      break;
    case NodeKind::function:
      found.insert("function");
      break;
    case NodeKind::control:
      add_features_of_control(node, found, 1);
      break;
  }
  if (!node.after.empty()) found.insert("order without data");
  for (const std::uint32_t output : node.outputs)
    if (output != kNoIndex && g.symbols()[output].kind == SymbolOrigin::view)
      found.insert(g.symbols()[g.symbols()[output].base].kind == SymbolOrigin::view
                       ? "written view of a view"
                       : "written view");
}

void add_features_of_symbol(const SymbolicGraph& g, std::uint32_t k, Features& found) {
  const SymbolInfo& info = g.symbols()[k];
  found.insert("dtype " + std::string(name(info.form->dtype)));
  if (element_count(info.form) == 0) found.insert("axis of size 0");
  switch (info.kind) {
    case SymbolOrigin::constant:
      found.insert("constant");
      break;
    case SymbolOrigin::zeros:
      found.insert("zeros");
      break;
    case SymbolOrigin::view:
      found.insert("view: " + std::string(name(g.view_step(g.at(k)).kind)));
      if (g.symbols()[info.base].kind == SymbolOrigin::view) found.insert("view of a view");
      break;
    default:
      break;
  }
}

/// Two command nodes with the same command and operands.
bool has_duplicates(const SymbolicGraph& g) {
  using Inputs = std::vector<std::uint32_t>;
  std::set<std::pair<std::string, Inputs>> seen;
  for (const NodeInfo& node : g.nodes())
    if (node.kind == NodeKind::command && !node.removed &&
        !seen.emplace(to_string(*node.command), Inputs(node.inputs.begin(), node.inputs.end()))
             .second)
      return true;
  return false;
}

}  // namespace

void count_features(const SymbolicGraph& g, Counts& counts) {
  Features found;
  for (const NodeInfo& node : g.nodes())
    if (!node.removed) add_features_of_node(g, node, found);
  const IndexLists read = readers(g);
  for (std::uint32_t k = 0; k < g.symbol_count(); ++k) {
    if (g.symbols()[k].removed) continue;
    add_features_of_symbol(g, k, found);
    if (g.symbols()[k].producer == kNoIndex) continue;
    if (read[g.symbols()[k].root].size() > 1) found.insert("value with several readers");
    if (read[g.symbols()[k].root].empty() && !g.is_output(g.at(k))) found.insert("dead end");
  }
  for (const std::uint32_t output : g.output_indices()) {
    if (g.symbols()[output].kind == SymbolOrigin::view) found.insert("output that is a view");
    if (g.symbols()[g.symbols()[output].root].kind == SymbolOrigin::input)
      found.insert("output that is an input");
    if (!read[g.symbols()[output].root].empty()) found.insert("output that is read");
  }
  if (has_duplicates(g)) found.insert("duplicate nodes");
  if (g.node_count() >= 80) found.insert("80 nodes or more");
  if (g.node_count() == 1) found.insert("one node");
  for (const std::string& feature : found) ++counts[feature];
}

std::vector<std::string> graph_features() {
  return {"gradient op",
          "random op",
          "axis",
          "op with an in-place pair",
          "left-out input",
          "left-out output",
          "several outputs",
          "operand used twice",
          "strided operand",
          "copy",
          "conversion",
          "fill",
          "order without data",
          "written view",
          "written view of a view",
          "dtype f32",
          "dtype f64",
          "dtype f16",
          "dtype bf16",
          "dtype i32",
          "dtype i64",
          "dtype i8",
          "dtype u8",
          "dtype bool",
          "axis of size 0",
          "constant",
          "zeros",
          "view: slice",
          "view: select",
          "view: permute",
          "view: broadcast",
          "view: reshape",
          "view of a view",
          "value with several readers",
          "dead end",
          "output that is a view",
          "output that is an input",
          "output that is read",
          "duplicate nodes",
          "80 nodes or more",
          "one node",
          "loop",
          "branches",
          "loop inside",
          "branches inside",
          "three levels",
          "loop with a counter",
          "loop whose condition a loop or branches give",
          "loop that carries its counter",
          "loop that carries what a loop inside gives",
          "loop that carries what a branch inside gives",
          "branch that gives what a loop inside gives",
          "branch that gives what a branch inside gives",
          "part of what a loop or a branch inside gives",
          "loop: times_0",
          "loop: times_1",
          "loop: times_2",
          "loop: times_5",
          "loop: times_by_data"};
}

std::vector<std::string> op_features() {
  std::vector<std::string> features;
  for (const DrawableOp& op : drawable_ops()) features.push_back("op " + op.name);
  return features;
}

}  // namespace mote::test
