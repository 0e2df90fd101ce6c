// SPDX-License-Identifier: Apache-2.0
// Prints a symbolic graph: the nodes in their order, and before each node the views, constants and
// tensors that it is the first to use.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "command/check_call.h"
#include "mote/base/characters.h"
#include "mote/graph/large_pages.h"
#include "mote/symbolic/text.h"
#include "tensor/number_text.h"
#include "text/elements.h"
#include "text/print_control.h"
#include "text/words.h"

namespace mote {
namespace {

using namespace graph_text;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kColumns = 100;

class GraphPrinter {
 public:
  explicit GraphPrinter(const SymbolicGraph& graph)
      : graph_(graph), printed_(graph.symbol_count()) {}

  std::string run() {
    name_symbols();
    label_nodes();
    header();
    for (std::uint32_t k = 0; k < graph_.node_count(); ++k)
      if (!graph_.nodes()[k].removed) statement(k);
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k)
      if (!graph_.symbols()[k].removed) declare(k);
    return std::move(text_);
  }

  std::vector<std::string> nodes() {
    name_symbols();
    std::vector<std::string> texts;
    detail::reserve_in_large_pages(texts, graph_.node_count());
    with_graphs_ = false;
    for (const NodeInfo& node : graph_.nodes()) {
      text_.clear();
      if (!node.removed) {
        symbol_list(node.outputs);
        if (!node.outputs.empty()) text_ += " = ";
        value(node, true);
      }
      texts.push_back(text_);
    }
    return texts;
  }

 private:
  const SymbolInfo& symbol(std::uint32_t k) const { return graph_.symbols()[k]; }

  // ---- names

  void name_symbols() {
    detail::reserve_in_large_pages(names_, graph_.symbol_count());
    // Few graphs have names that a symbol without one might get.
    const bool may_be_taken = std::ranges::any_of(graph_.symbols(), [](const SymbolInfo& info) {
      return info.name.size() > 1 && info.name[0] == 't' && is_digit(info.name[1]);
    });
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k) {
      const std::string& given = symbol(k).name;
      std::string name = given.empty() ? "t" + std::to_string(k) : name_text(given);
      while (given.empty() && may_be_taken && graph_.has(name)) name += '_';
      names_.push_back(std::move(name));
    }
  }

  /// Adds "a, b".
  void symbol_list(std::span<const std::uint32_t> symbols) {
    const char* between = "";
    for (const std::uint32_t k : symbols) {
      text_ += between;
      text_ += k == kNoIndex ? std::string_view("_") : names_[k];
      between = ", ";
    }
  }

  static std::uint32_t first_output(const NodeInfo& node) {
    for (const std::uint32_t output : node.outputs)
      if (output != kNoIndex) return output;
    return kNoIndex;
  }

  /// Gives "@name" to nodes with a name, and to those that others come after and that write
  /// nothing.
  void label_nodes() {
    const std::vector<NodeInfo>& nodes = graph_.nodes();
    std::vector<bool> needs(nodes.size());
    std::unordered_set<std::string> names;
    for (const NodeInfo& node : nodes) {
      if (node.removed) continue;
      names.insert(node.name);
      for (const std::uint32_t before : node.after)
        if (first_output(nodes[before]) == kNoIndex) needs[before] = true;
    }
    std::unordered_set<std::string> used;
    std::size_t number = 0;
    labels_.resize(nodes.size());
    heads_.resize(nodes.size());
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      if (nodes[k].removed) continue;
      const std::string& name = nodes[k].name;
      std::string label = name;
      if (name.empty() || used.contains(name)) {
        label = "n" + std::to_string(number);
        while (names.contains(label)) label += '_';
      }
      ++number;
      if (name.empty() && !needs[k]) continue;
      used.insert(label);
      labels_[k] = "@" + name_text(label);
      heads_[k] = labels_[k] + (label == name ? "" : " " + quoted_text(name)) + ": ";
    }
  }

  // ---- lines

  /// Adds "[a, b]" to a line that has begun; lines that grow too long break at commas.
  void list(const char* open, const std::vector<std::string>& items, const char* close) {
    std::size_t column = text_.size() - (text_.rfind('\n') + 1);
    text_ += open;
    for (std::size_t k = 0; k < items.size(); ++k) {
      column += items[k].size() + 2;
      if (k > 0) text_ += ',';
      if (column > kColumns && k > 0) {
        text_ += "\n      ";
        column = items[k].size() + 8;
      } else if (k > 0) {
        text_ += ' ';
      }
      text_ += items[k];
    }
    text_ += close;
  }

  void header() {
    text_ = "graph " + name_text(graph_.name());
    std::vector<std::string> inputs;
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k) {
      if (symbol(k).removed || symbol(k).kind != SymbolOrigin::input) continue;
      printed_[k] = true;
      inputs.push_back(names_[k] + " " + form_text(k));
    }
    std::vector<std::string> outputs;
    for (const std::uint32_t k : graph_.output_indices()) outputs.push_back(names_[k]);
    list("(", inputs, ")");
    list(" -> (", outputs, ")\n");
  }

  std::string form_text(std::uint32_t k) const {
    const SymbolInfo& of = symbol(k);
    return of.has_form ? to_string(of.form) : std::string(name(of.form->dtype)) + "[?]";
  }

  /// Prints the symbol, after those that it is a view of, unless that is done.
  void declare(std::uint32_t k) {
    std::vector<std::uint32_t> chain;
    for (; !printed_[k]; k = symbol(k).base) {
      printed_[k] = true;
      chain.push_back(k);
      if (symbol(k).kind != SymbolOrigin::view) break;
    }
    while (!chain.empty()) {
      declaration(chain.back());
      chain.pop_back();
    }
  }

  void declaration(std::uint32_t k) {
    text_ += "  " + names_[k] + " = ";
    switch (symbol(k).kind) {
      case SymbolOrigin::view: {
        const ViewStep& step = graph_.view_step(graph_.at(k));
        std::string numbers;
        for (const std::int64_t number : step.numbers)
          numbers += (numbers.empty() ? "" : ", ") + std::to_string(number);
        text_ += names_[symbol(k).base] + "." + name(step.kind) + "(" + numbers + ")\n";
        return;
      }
      case SymbolOrigin::constant:
        text_ += "constant " + form_text(k);
        list(" [", element_texts(graph_.value(graph_.at(k))), "]\n");
        return;
      case SymbolOrigin::zeros:
        text_ += "zeros " + form_text(k) + "\n";
        return;
      case SymbolOrigin::tensor:
      case SymbolOrigin::input:
        text_ += "tensor " + form_text(k) + "\n";
        return;
    }
  }

  // ---- nodes

  void statement(std::uint32_t k) {
    const NodeInfo& node = graph_.nodes()[k];
    for (const std::uint32_t input : node.inputs)
      if (input != kNoIndex) declare(input);
    const bool defines = defines_outputs(node);
    ShortList outputs = node.outputs;
    if (node.kind != NodeKind::function)
      while (!outputs.empty() && outputs.back() == kNoIndex) outputs.pop_back();
    for (const std::uint32_t output : outputs) {
      if (output == kNoIndex) continue;
      if (!defines) declare(output);
      printed_[output] = true;
    }
    text_ += "  " + heads_[k];
    symbol_list(outputs);
    if (!outputs.empty()) text_ += defines ? " = " : " <- ";
    value(node, defines);
    if (node.recomputed != 0) text_ += " recompute " + std::to_string(node.recomputed);
    const char* before_name = " after ";
    for (const std::uint32_t before : node.after) {
      if (graph_.nodes()[before].removed) continue;
      const std::uint32_t output = first_output(graph_.nodes()[before]);
      text_ += before_name + (output == kNoIndex ? labels_[before] : names_[output]);
      before_name = ", ";
    }
    text_ += "\n";
  }

  void value(const NodeInfo& node, bool defines) {
    switch (node.kind) {
      case NodeKind::copy:
        text_ += "copy(" + names_[node.inputs[0]] +
                 (defines ? ", " + form_text(node.outputs[0]) : "") + ")";
        return;
      case NodeKind::fill:
        text_ += "fill(" + (defines ? form_text(node.outputs[0]) + ", " : "") +
                 real_text(node.value) + ")";
        return;
      case NodeKind::function:
        text_ += "function " + quoted_text(node.function->name) + "(";
        symbol_list(node.inputs);
        text_ += ")";
        return;
      case NodeKind::control:
        text_ += control_text(node, names_, with_graphs_);
        return;
      case NodeKind::command:
        return call(node, defines);
    }
  }

  void call(const NodeInfo& node, bool defines) {
    const Command& command = *node.command;
    text_ += op_text(command.definition().name) + "(";
    const std::size_t begin = text_.size();
    symbol_list(node.inputs);
    const auto add = [&](const std::string& setting) {
      text_ += (text_.size() == begin ? "" : ", ") + setting;
    };
    for (const mote_param& p : command.params())
      add(name_text(p.name) + "=" +
          (p.is_real != 0 ? real_text(p.real) : std::to_string(p.integer)));
    if (command.axis()) add("axis=" + std::to_string(*command.axis()));
    if (defines && !dtype_follows(node))
      add("dtype=" + std::string(name(symbol(first_output(node)).form->dtype)));
    text_ += ")";
  }

  /// False if an output has the instance's dtype and no input has it.
  static bool dtype_follows(const NodeInfo& node) {
    const mote_op_definition& op = node.command->definition();
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] != kNoIndex && !parse_dtype(op.inputs[k].dtype)) return true;
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      if (node.outputs[k] != kNoIndex && !parse_dtype(op.outputs[k].dtype)) return false;
    return true;
  }

  /// True if the node's statement can make its outputs: no statement before mentions them, and
  /// their forms are those that add_node() infers.
  bool defines_outputs(const NodeInfo& node) const {
    if (node.kind == NodeKind::function || first_output(node) == kNoIndex) return false;
    for (const std::uint32_t k : node.outputs)
      if (k != kNoIndex && (printed_[k] || symbol(k).kind != SymbolOrigin::tensor)) return false;
    return node.kind != NodeKind::command || has_inferred_outputs(node);
  }

  bool has_inferred_outputs(const NodeInfo& node) const {
    const mote_op_definition& op = node.command->definition();
    TensorMask present = 0;
    bool has_form = true;
    DLDevice device{kDLCPU, 0};
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k] == kNoIndex) continue;
      present |= mask_bit(k);
      has_form = has_form && symbol(node.inputs[k]).has_form;
      device = symbol(node.inputs[k]).form->device;
    }
    const TensorMask there = outputs_there(*node.command, present);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const bool is_there = has(there, static_cast<int>(k));
      if (node.outputs[k] == kNoIndex) {
        if (is_there && op.outputs[k].optional == 0) return false;
        continue;
      }
      const SymbolInfo& output = symbol(node.outputs[k]);
      if (!is_there || output.has_form != has_form) return false;
      if (!has_form) continue;
      const TensorForm& form = output.form;
      if (form.strides != checked_strides(form.dtype, form.shape)) return false;
      if (form.device.device_type != device.device_type ||
          form.device.device_id != device.device_id)
        return false;
    }
    return true;
  }

  const SymbolicGraph& graph_;
  std::vector<bool> printed_;
  std::vector<std::string> names_;   ///< of symbols
  std::vector<std::string> labels_;  ///< of nodes: "@name"
  std::vector<std::string> heads_;   ///< of nodes: "@name: "
  bool with_graphs_ = true;          ///< print those of loops and branches
  std::string text_;
};

}  // namespace

std::string to_text(const SymbolicGraph& graph) { return GraphPrinter(graph).run(); }

std::vector<std::string> node_texts(const SymbolicGraph& graph) {
  return GraphPrinter(graph).nodes();
}

}  // namespace mote
