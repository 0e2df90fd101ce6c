// SPDX-License-Identifier: Apache-2.0
// Adds loops and branches to a symbolic graph, and checks that what they hold fits.
#include "mote/symbolic/control.h"

#include <algorithm>
#include <string>
#include <utility>

#include "check_function.h"
#include "control/check_control.h"
#include "fail.h"

namespace mote {

std::vector<std::uint32_t> input_indices(const SymbolicGraph& graph) {
  std::vector<std::uint32_t> inputs;
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k)
    if (graph.symbols()[k].kind == SymbolOrigin::input && !graph.symbols()[k].removed)
      inputs.push_back(k);
  return inputs;
}

namespace {

void check_graph(const ControlInfo& control, std::size_t k) {
  if (k >= control.graphs.size())
    fail_graph("a loop or case..of: it has " + std::to_string(control.graphs.size()) +
               " graphs, asked for " + std::to_string(k));
}

const ControlInfo& control_of(const NodeInfo& node) {
  if (node.control == nullptr) fail_graph("the node is no loop and no case..of");
  return *node.control;
}

}  // namespace

std::size_t input_count(const ControlInfo& control, std::size_t k) {
  check_graph(control, k);
  return input_indices(control.graphs[k]).size() - (control.has_counter ? 1 : 0);
}

std::size_t result_count(const ControlInfo& control) {
  if (control.graphs.empty()) fail_graph("a loop or case..of: it has no graphs");
  const std::size_t outputs = control.graphs[0].output_indices().size();
  return control.is_loop && outputs > 0 ? outputs - 1 : outputs;
}

std::size_t first_input(const NodeInfo& node, std::size_t k) {
  const ControlInfo& control = control_of(node);
  check_graph(control, k);
  if (control.is_loop) return 0;
  std::size_t first = 1 + result_count(control);
  for (std::size_t j = 0; j < k; ++j) first += input_count(control, j);
  return first;
}

int nesting(const SymbolicGraph& graph) {
  int deepest = 0;
  for (const NodeInfo& node : graph.nodes())
    if (!node.removed && node.kind == NodeKind::control)
      for (const SymbolicGraph& sub : node.control->graphs)
        deepest = std::max(deepest, nesting(sub));
  return deepest + 1;
}

namespace {

bool is_decision(const TensorForm& form) {
  return !is_real(form.dtype) && element_count(form) == 1;
}

void check_decision(const SymbolicGraph& graph, std::uint32_t symbol, const char* what) {
  const SymbolInfo& info = graph.symbols()[symbol];
  if (!info.has_form && !is_real(info.form->dtype)) return;
  if (!info.has_form || !is_decision(info.form))
    fail_graph(std::string(what) + " " + graph.text(graph.at(symbol)) +
               " must be a bool or an integer of one element, got " + to_string(info.form));
}

/// Throws unless both symbols have one form, as far as it is known yet.
void check_same(const SymbolicGraph& of, std::uint32_t symbol, const SymbolicGraph& other,
                std::uint32_t to, const std::string& what) {
  const SymbolInfo& a = of.symbols()[symbol];
  const SymbolInfo& b = other.symbols()[to];
  const bool are_known = a.has_form && b.has_form;
  if (are_known ? a.form == b.form : a.form->dtype == b.form->dtype) return;
  const auto text_of = [](const SymbolInfo& info) {
    return info.has_form ? to_string(info.form) : std::string(name(info.form->dtype)) + "[?]";
  };
  fail_graph(what + ": " + of.text(of.at(symbol)) + " is " + text_of(a) + ", but " +
             other.text(other.at(to)) + " is " + text_of(b));
}

void check_loop(const ControlInfo& control) {
  const SymbolicGraph& body = control.graphs[0];
  const std::vector<std::uint32_t> inputs = input_indices(body);
  const std::vector<std::uint32_t>& outputs = body.output_indices();
  const std::string what = "the body " + body.name() + " of a while";
  if (outputs.empty()) fail_graph(what + " has no outputs, the last of which is the condition");
  check_decision(body, outputs.back(), "the condition");
  if (control.has_counter &&
      (inputs.empty() || body.symbols()[inputs.back()].form != TensorForm(DType::i64, AxisList{})))
    fail_graph(what +
               " must have an i64[] as its last input, which is the number of the iteration");
  const std::size_t carried = outputs.size() - 1;
  if (carried > inputs.size() - (control.has_counter ? 1 : 0))
    fail_graph(what + " has " + std::to_string(carried) + " outputs that are carried over, but " +
               std::to_string(inputs.size()) + " inputs");
  for (std::size_t k = 0; k < carried; ++k)
    check_same(body, outputs[k], body, inputs[k], what + " carries over what has another form");
  if (control.checkpoints < kKeepSquareRoot)
    fail_graph("the checkpoints of a while must be at least 1, or " + std::to_string(kKeepEach) +
               " or " + std::to_string(kKeepSquareRoot) + ", got " +
               std::to_string(control.checkpoints));
  if (control.limit < 0)
    fail_graph("the limit of a while must be at least 0, got " + std::to_string(control.limit));
}

void check_branches(const ControlInfo& control) {
  const SymbolicGraph& first = control.graphs[0];
  for (const SymbolicGraph& branch : control.graphs) {
    const std::string what = "the branches " + first.name() + " and " + branch.name();
    if (branch.output_indices().size() != first.output_indices().size())
      fail_graph(what + " have " + std::to_string(first.output_indices().size()) + " and " +
                 std::to_string(branch.output_indices().size()) + " outputs");
    for (std::size_t k = 0; k < first.output_indices().size(); ++k)
      check_same(branch, branch.output_indices()[k], first, first.output_indices()[k],
                 what + " give different forms");
  }
}

/// Gives the inputs of a sub-graph that have no shape those of the node's, as far as these are
/// known.
void give_forms(SymbolicGraph& sub, const SymbolicGraph& around,
                std::span<const std::uint32_t> given) {
  const std::vector<std::uint32_t> inputs = input_indices(sub);
  for (std::size_t k = 0; k < std::min(inputs.size(), given.size()); ++k)
    if (!sub.symbols()[inputs[k]].has_form && given[k] != kNoIndex &&
        around.symbols()[given[k]].has_form)
      sub.set_form(sub.at(inputs[k]), around.form(around.at(given[k])));
}

}  // namespace

SharedForm result_form(const ControlInfo& control, std::size_t k, bool& is_known) {
  for (const SymbolicGraph& sub : control.graphs) {
    const SymbolInfo& output = sub.symbols()[sub.output_indices()[k]];
    if ((is_known = output.has_form)) return output.form;
  }
  const SymbolicGraph& first = control.graphs[0];
  if (!control.is_loop) return first.symbols()[first.output_indices()[k]].form;
  // A carried value keeps the form that it begins with.
  const SymbolInfo& input = first.symbols()[input_indices(first)[k]];
  is_known = input.has_form;
  return input.form;
}

std::shared_ptr<const ControlInfo> with_later_forms(const SymbolicGraph& graph,
                                                    const NodeInfo& node) {
  auto control = std::make_shared<ControlInfo>(*node.control);
  for (std::size_t g = 0; g < control->graphs.size(); ++g)
    give_forms(control->graphs[g], graph,
               std::span(node.inputs.data() + first_input(node, g), input_count(*control, g)));
  return control;
}

void check_control(const SymbolicGraph& graph, const NodeInfo& node) {
  if (node.kind != NodeKind::control) fail_graph("the node is no loop and no case..of");
  if (node.control == nullptr) fail_graph("a loop or case..of has no graphs");
  const ControlInfo& control = *node.control;
  if (control.graphs.empty()) fail_graph("a case..of has no branches");
  if (control.is_loop)
    check_loop(control);
  else
    check_branches(control);
  std::size_t count = first_input(node, control.graphs.size() - 1) +
                      input_count(control, control.graphs.size() - 1);
  const std::string what = control.is_loop ? "while" : "case..of";
  if (node.inputs.size() != count)
    fail_graph(what + " takes " + std::to_string(count) + " inputs, got " +
               std::to_string(node.inputs.size()));
  for (std::size_t g = 0; g < control.graphs.size(); ++g) {
    const std::vector<std::uint32_t> inputs = input_indices(control.graphs[g]);
    const std::size_t first = first_input(node, g);
    for (std::size_t k = 0; k < input_count(control, g); ++k) {
      if (node.inputs[first + k] == kNoIndex)
        fail_graph(what + ": input " + std::to_string(k) + " of " + control.graphs[g].name() +
                   " is left out");
      check_same(graph, node.inputs[first + k], control.graphs[g], inputs[k], what);
    }
  }
  const std::vector<std::uint32_t>& given = control.graphs[0].output_indices();
  if (control.is_loop) return;
  if (node.inputs[0] == kNoIndex) fail_graph("case..of: the index is left out");
  check_decision(graph, node.inputs[0], "the index");
  for (std::size_t k = 0; k < given.size(); ++k)
    if (node.inputs[1 + k] != kNoIndex)
      check_same(graph, node.inputs[1 + k], control.graphs[0], given[k], "case..of");
}

/// Adds the node, with new outputs unless it has some.
NodeSymbol SymbolicGraph::add_control(NodeInfo node) {
  check_control(*this, node);
  for (const SymbolicGraph& sub : node.control->graphs)
    if (nesting(sub) >= kMaxNesting)
      fail_graph("more than " + std::to_string(kMaxNesting) + " graphs would be inside each other");
  const SymbolicGraph& first = node.control->graphs[0];
  const std::size_t before = symbols_.size();
  const std::size_t count = result_count(*node.control);
  if (!node.outputs.empty() && node.outputs.size() != count)
    fail_graph("a while or a case..of has " + std::to_string(count) + " outputs, got " +
               std::to_string(node.outputs.size()));
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    const std::uint32_t output = node.outputs[k];
    if (output == kNoIndex || symbols_[output].kind != SymbolOrigin::tensor)
      fail_graph("a while or a case..of writes whole tensors");
    check_same(first, first.output_indices()[k], *this, output, "an output has another form");
  }
  try {
    for (std::size_t k = node.outputs.size(); k < count; ++k) {
      SymbolInfo output;
      output.form = result_form(*node.control, k, output.has_form);
      node.outputs.push_back(new_symbol(std::move(output)));
    }
    return new_node(std::move(node));
  } catch (...) {  // no output stays without its node
    symbols_.resize(before);
    throw;
  }
}

NodeSymbol SymbolicGraph::add_while(SymbolicGraph body, std::span<const TensorSymbol> inputs,
                                    const WhileOptions& options) {
  NodeInfo node;
  node.kind = NodeKind::control;
  node.inputs = checked_inputs(inputs);
  give_forms(body, *this, node.inputs);
  auto control = std::make_shared<ControlInfo>();
  control->graphs.push_back(std::move(body));
  control->has_counter = options.has_counter;
  control->limit = options.limit;
  control->checkpoints = options.checkpoints;
  if (control->graphs[0].output_indices().empty()) check_loop(*control);
  node.control = std::move(control);
  return add_control(std::move(node));
}

NodeSymbol SymbolicGraph::add_while(SymbolicGraph body, std::initializer_list<TensorSymbol> inputs,
                                    const WhileOptions& options) {
  return add_while(std::move(body), std::span(inputs.begin(), inputs.size()), options);
}

NodeSymbol SymbolicGraph::add_case_of(TensorSymbol index, std::vector<CaseBranch> branches,
                                      std::span<const TensorSymbol> otherwise) {
  if (branches.empty()) fail_graph("a case..of has no branches");
  NodeInfo node;
  node.kind = NodeKind::control;
  auto control = std::make_shared<ControlInfo>();
  control->is_loop = false;
  node.inputs.push_back(checked(index));
  ShortList replaced = checked_inputs(otherwise);
  for (std::size_t k = 0; k < branches.size(); ++k)
    if (branches[k].graph == nullptr)
      fail_graph("case..of: branch " + std::to_string(k) + " has no graph");
  const std::size_t count = branches[0].graph->output_indices().size();
  if (replaced.size() > count)
    fail_graph("case..of has " + std::to_string(count) + " outputs, but " +
               std::to_string(replaced.size()) + " replacements");
  replaced.resize(count, kNoIndex);
  for (const std::uint32_t symbol : replaced) node.inputs.push_back(symbol);
  for (CaseBranch& branch : branches) {
    const ShortList inputs = checked_inputs(branch.inputs);
    give_forms(*branch.graph, *this, inputs);
    for (const std::uint32_t symbol : inputs) node.inputs.push_back(symbol);
    if (inputs.size() != input_indices(*branch.graph).size())
      fail_graph("the branch " + branch.graph->name() + " of a case..of takes " +
                 std::to_string(input_indices(*branch.graph).size()) + " inputs, got " +
                 std::to_string(inputs.size()));
    control->graphs.push_back(std::move(*branch.graph));
  }
  node.control = std::move(control);
  return add_control(std::move(node));
}

NodeSymbol SymbolicGraph::add_control_like(const NodeInfo& node,
                                           std::span<const TensorSymbol> inputs,
                                           std::span<const TensorSymbol> outputs) {
  if (node.control == nullptr) fail_graph("a node that is no loop and no case..of has no graphs");
  NodeInfo made;
  made.outputs =
      checked_outputs(outputs, [&] { return node.control->is_loop ? "while" : "case..of"; });
  made.kind = NodeKind::control;
  made.inputs = checked_inputs(inputs);
  made.control = node.control;
  return add_control(std::move(made));
}

std::vector<TensorSymbol> SymbolicGraph::grow_control(NodeSymbol node,
                                                      std::shared_ptr<const ControlInfo> control,
                                                      std::span<const TensorSymbol> inputs) {
  NodeInfo changed = nodes_[checked(node)];
  changed.control = std::move(control);
  changed.inputs = checked_inputs(inputs);
  check_control(*this, changed);
  const SymbolicGraph& body = changed.control->graphs[0];
  std::vector<TensorSymbol> made;
  while (changed.outputs.size() < result_count(*changed.control)) {
    SymbolInfo output;
    output.form = body.symbols()[body.output_indices()[changed.outputs.size()]].form;
    output.producer = node.index;
    changed.outputs.push_back(new_symbol(std::move(output)));
    made.push_back(at(changed.outputs.back()));
  }
  nodes_[node.index] = std::move(changed);
  ++version_;
  return made;
}

TensorSymbol SymbolicGraph::grow_function(NodeSymbol node, NamedFunction function) {
  NodeInfo changed = nodes_[checked(node)];
  if (changed.kind != NodeKind::function) fail_graph(text(node) + " calls no function");
  changed.function = std::make_shared<const NamedFunction>(std::move(function));
  const FunctionCounts counts = changed.function->counts.value_or(FunctionCounts{});
  check_count(*changed.function, "outputs", counts.outputs, changed.outputs.size() + 1);
  SymbolInfo output;
  output.form = forms_.of(TensorForm(DType::i64, {}));
  output.producer = node.index;
  changed.outputs.push_back(new_symbol(std::move(output)));
  const TensorSymbol made = at(changed.outputs.back());
  nodes_[node.index] = std::move(changed);
  ++version_;
  return made;
}

void SymbolicGraph::shrink_control(NodeSymbol node, std::shared_ptr<const ControlInfo> control,
                                   std::span<const std::size_t> dead) {
  NodeInfo changed = nodes_[checked(node)];
  check_control(*this, changed);
  changed.control = std::move(control);
  for (std::size_t k = 0; k < dead.size(); ++k)
    if (dead[k] >= changed.outputs.size() || (k > 0 && dead[k] <= dead[k - 1]))
      fail_graph(text(node) + ": value " + std::to_string(dead[k]) + " of " +
                 std::to_string(changed.outputs.size()) + " cannot be dropped here");
  std::vector<std::uint32_t> dropped;
  for (std::size_t n = dead.size(); n-- > 0;) {
    dropped.push_back(changed.outputs[dead[n]]);
    changed.inputs.erase(changed.inputs.data() + dead[n], changed.inputs.data() + dead[n] + 1);
    changed.outputs.erase(changed.outputs.data() + dead[n], changed.outputs.data() + dead[n] + 1);
  }
  check_control(*this, changed);
  for (const std::uint32_t symbol : dropped) symbols_[symbol].producer = kNoIndex;
  nodes_[node.index] = std::move(changed);
  ++version_;
}

void SymbolicGraph::set_control(NodeSymbol node, std::shared_ptr<const ControlInfo> control) {
  NodeInfo changed = nodes_[checked(node)];
  changed.control = control;
  check_control(*this, changed);
  if (result_count(*control) != changed.outputs.size())
    fail_graph(text(node) + ": expected " + std::to_string(changed.outputs.size()) +
               " values, got " + std::to_string(result_count(*control)));
  nodes_[node.index].control = std::move(control);
  ++version_;
}

}  // namespace mote
