// SPDX-License-Identifier: Apache-2.0
// The pass fold: a node that reads only constants is computed once, by the kernel that the graph
// would run, and its outputs become constants, as far as they are small (PassOptions::fold_bytes).
// A fill, and zeros that nothing writes, count as constants, but stay what they are, since they
// need no memory ahead. Random ops, functions, recomputed nodes and nodes that order() names are
// left alone, and so is a node that fails: it fails when the graph runs.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "dependency_cache.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/dependencies.h"
#include "passes/kernels.h"
#include "passes/registered.h"
#include "passes/substitute.h"
#include "shape_notes.h"

namespace mote {
namespace {

class Folder {
 public:
  Folder(SymbolicGraph& graph, const PassOptions& options)
      : graph_(graph),
        options_(options),
        nodes_(detail::node_table(graph)),
        is_random_(random_ops(graph.registry())),
        is_output_(graph.symbol_count()),
        is_ordered_(detail::ordered_nodes(graph)) {
    for (const std::uint32_t output : graph.output_indices()) is_output_[output] = true;
  }

  std::string fold() {
    const auto may_be_known = [&](std::uint32_t symbol) { return this->may_be_known(symbol); };
    for (const std::uint32_t node : topological_order(graph_))
      if (std::ranges::all_of(nodes_->inputs(node), may_be_known) && may_be_folded(node) &&
          compute(node))
        folded_.push_back(node);
    if (folded_.empty()) return "";
    for (const std::uint32_t node : folded_) {
      const ShortList outputs = graph_.nodes()[node].outputs;
      graph_.remove(graph_.node_at(node));
      for (const std::uint32_t output : outputs)
        if (output != kNoIndex) results_.push_back(output);
    }
    make_constants();
    return count_of(folded_.size(), "node") + " computed";
  }

 private:
  bool is_small(const TensorForm& form) const {
    return static_cast<std::size_t>(element_count(form)) * size_of(form.dtype) <=
           options_.fold_bytes;
  }
  /// True if memory of this form can be made here.
  static bool is_plain(const TensorForm& form) {
    return form == TensorForm(form.dtype, form.shape);
  }

  bool may_be_folded(std::uint32_t k) const {
    const NodeInfo& node = graph_.nodes()[k];
    if (node.kind == NodeKind::function || node.kind == NodeKind::fill ||
        node.kind == NodeKind::control || node.recomputed != 0 || is_ordered_[k])
      return false;
    if (node.kind == NodeKind::command && is_random_[node.command->op()]) return false;
    const auto is_result = [&](std::uint32_t output) {
      if (output == kNoIndex) return true;
      const SymbolInfo& info = graph_.symbols()[output];
      // A copy to an output would only be replaced by another one.
      return info.kind == SymbolOrigin::tensor && info.has_form && is_plain(info.form) &&
             is_small(info.form) && !(node.kind == NodeKind::copy && is_output_[output]);
    };
    return std::ranges::all_of(node.outputs, is_result);
  }

  /// Returns the symbol's value if it is known before the graph runs.
  std::optional<Tensor> value(std::uint32_t symbol) {
    std::vector<std::uint32_t> views;
    for (; graph_.symbols()[symbol].kind == SymbolOrigin::view;
         symbol = graph_.symbols()[symbol].base)
      views.push_back(symbol);
    const auto known = values_.find(symbol);
    std::optional<Tensor> value = known == values_.end() ? root_value(symbol) : known->second;
    if (value && known == values_.end()) values_.emplace(symbol, *value);
    for (; value && !views.empty(); views.pop_back())
      value = apply(graph_.view_step(graph_.at(views.back())), *value);
    return value;
  }

  bool is_written(std::uint32_t root) {
    if (written_ == nullptr) written_ = detail::shared_writers(graph_);
    return !(*written_)[root].empty();
  }

  std::optional<Tensor> root_value(std::uint32_t root) {
    const SymbolInfo& info = graph_.symbols()[root];
    if (info.kind == SymbolOrigin::constant) return graph_.value(graph_.at(root));
    if (!info.has_form || !is_plain(info.form) || !is_small(info.form)) return std::nullopt;
    std::optional<double> filled;
    if (info.kind == SymbolOrigin::zeros && !is_written(root)) filled = 0;
    if (info.kind == SymbolOrigin::tensor && info.producer != kNoIndex &&
        graph_.nodes()[info.producer].kind == NodeKind::fill)
      filled = graph_.nodes()[info.producer].value;
    if (!filled) return std::nullopt;
    Tensor tensor(info.form->dtype, info.form->shape);
    fill(tensor, *filled);
    return tensor;
  }

  /// False if the symbol's value is surely not known: a node writes it that is not computed.
  bool may_be_known(std::uint32_t symbol) const {
    if (symbol == kNoIndex) return true;
    const SymbolInfo& root = graph_.symbols()[graph_.symbols()[symbol].root];
    return root.kind != SymbolOrigin::input &&
           (root.producer == kNoIndex || nodes_->kind(root.producer) == NodeKind::fill ||
            values_.contains(graph_.symbols()[symbol].root));
  }

  /// Computes the node's outputs if its inputs are known.
  bool compute(std::uint32_t k) {
    const NodeInfo& node = graph_.nodes()[k];
    std::vector<std::optional<Tensor>> inputs(node.inputs.size());
    std::vector<const Tensor*> read(node.inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (node.inputs[i] == kNoIndex) continue;
      inputs[i] = value(node.inputs[i]);
      if (!inputs[i] || inputs[i]->device().device_type != kDLCPU) return false;
      read[i] = &*inputs[i];
    }
    const std::vector<std::uint32_t> shapes = shapes_of(node.inputs);
    std::vector<Tensor> outputs(node.outputs.size());
    std::vector<Tensor*> written(node.outputs.size());
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if (node.outputs[o] == kNoIndex) continue;
      const TensorForm& form = graph_.symbols()[node.outputs[o]].form;
      outputs[o] = Tensor(form.dtype, form.shape);
      written[o] = &outputs[o];
    }
    try {
      if (node.kind == NodeKind::copy)
        copy(*read.front(), outputs.front());
      else
        run(*node.command, read, written, {.context = options_.context});
    } catch (const StatusError&) {
      return false;
    }
    for (std::size_t o = 0; o < outputs.size(); ++o)
      if (node.outputs[o] != kNoIndex) {
        values_.insert_or_assign(node.outputs[o], outputs[o]);
        if (!shapes.empty()) shapes_.insert_or_assign(node.outputs[o], shapes);
      }
    return true;
  }

  /// Returns the symbols whose shapes those of the inputs follow from: the result holds only for
  /// these.
  std::vector<std::uint32_t> shapes_of(std::span<const std::uint32_t> inputs) const {
    std::set<std::uint32_t> shapes;
    for (std::uint32_t symbol : inputs) {
      if (symbol == kNoIndex) continue;
      for (;; symbol = graph_.symbols()[symbol].base) {
        for (const ShapeNote& note : shape_notes(graph_, symbol)) shapes.insert(note.of);
        if (graph_.symbols()[symbol].kind != SymbolOrigin::view) break;
      }
      if (const auto known = shapes_.find(symbol); known != shapes_.end())
        shapes.insert(known->second.begin(), known->second.end());
    }
    return {shapes.begin(), shapes.end()};
  }

  void note_shapes(std::uint32_t constant, std::uint32_t result) {
    if (const auto shapes = shapes_.find(result); shapes != shapes_.end())
      for (const std::uint32_t of : shapes->second)
        note_shape(graph_, graph_.at(constant), {ShapeNoteKind::stays, of});
  }

  /// Gives the results that are still read their values; an output of the graph becomes a copy.
  void make_constants() {
    std::vector<bool> is_used(graph_.symbol_count());
    const auto use = [&](std::uint32_t symbol) {
      if (symbol != kNoIndex) is_used[graph_.symbols()[symbol].root] = true;
    };
    for (const NodeInfo& node : graph_.nodes()) std::ranges::for_each(node.inputs, use);
    std::ranges::for_each(graph_.output_indices(), use);
    Substitution substitution(graph_);
    for (const std::uint32_t result : results_) {
      if (!is_used[result]) continue;
      if (is_output_[result]) {
        const std::uint32_t constant = graph_.constant({}, values_.at(result)).index;
        note_shapes(constant, result);
        substitution.add(result, constant);
      } else {
        graph_.make_constant(graph_.at(result), values_.at(result));
        note_shapes(result, result);
      }
    }
    substitution.apply();
  }

  SymbolicGraph& graph_;
  const PassOptions& options_;
  std::shared_ptr<const detail::NodeTable> nodes_;
  std::vector<bool> is_random_;                       ///< by op
  std::vector<bool> is_output_;                       ///< by symbol
  std::vector<bool> is_ordered_;                      ///< by node: order() names it
  std::unordered_map<std::uint32_t, Tensor> values_;  ///< by root, as far as they are known
  /// By such a root: the symbols for whose shapes the value holds.
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> shapes_;
  /// The nodes that write each root, once it is asked for: nothing changes while nodes are
  /// computed.
  std::shared_ptr<const IndexLists> written_;
  std::vector<std::uint32_t> folded_;
  std::vector<std::uint32_t> results_;
};

}  // namespace

std::string fold(SymbolicGraph& graph, const PassOptions& options) {
  return Folder(graph, options).fold();
}

}  // namespace mote
