// SPDX-License-Identifier: Apache-2.0
// The rules of a graph, which a pass must keep.
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "check_devices.h"
#include "check_function.h"
#include "control/check_control.h"
#include "fail.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/region_index.h"
#include "written_parts.h"

namespace mote {
namespace {

/// The elements of a root that nodes write.
struct WrittenElements {
  explicit WrittenElements(const TensorForm& root) : regions(root) {}

  RegionIndex regions;
  std::int64_t count = 0;
};

class Verifier {
 public:
  explicit Verifier(const SymbolicGraph& graph)
      : graph_(graph), writer_(graph.symbol_count(), kNoIndex), writes_(graph.symbol_count()) {}

  void verify() {
    for (std::uint32_t k = 0; k < graph_.node_count(); ++k)
      for (const std::uint32_t output : graph_.nodes()[k].outputs)
        if (output != kNoIndex) note_writer(output, k);
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k)
      if (!graph_.symbols()[k].removed) check_symbol(k);
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k)
      if (writer_[k] != kNoIndex) check_write(k);
    for (std::uint32_t k = 0; k < graph_.node_count(); ++k)
      if (!graph_.nodes()[k].removed) check_node(k);
    for (const std::uint32_t output : graph_.output_indices()) {
      if (graph_.symbols()[output].removed) fail("output " + symbol(output) + " was removed");
      if (const auto some = unwritten(output)) fail(unwritten_output(symbol(output), *some));
    }
    topological_order(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_graph(graph_.name() + ": " + what); }
  std::string symbol(std::uint32_t k) const { return graph_.text(graph_.at(k)); }
  std::string node(std::uint32_t k) const { return graph_.text(graph_.node_at(k)); }

  void note_writer(std::uint32_t symbol_index, std::uint32_t k) {
    if (writer_[symbol_index] != kNoIndex)
      fail(node(writer_[symbol_index]) + " and " + node(k) + " write " + symbol(symbol_index));
    writer_[symbol_index] = k;
    ++writes_[graph_.symbols()[symbol_index].root];
  }

  void check_symbol(std::uint32_t k) const {
    const SymbolInfo& info = graph_.symbols()[k];
    if (info.kind == SymbolOrigin::view) {
      if (info.base >= graph_.symbol_count() || graph_.symbols()[info.base].removed)
        fail("view " + symbol(k) + " is of a symbol that was removed");
      check_location(k);
    }
    if (info.producer == kNoIndex) return;
    if (writer_[k] != info.producer)
      fail(symbol(k) + " names " + node(info.producer) +
           " as its producer, which does not write it");
    const SymbolOrigin kind = graph_.symbols()[info.root].kind;
    if (kind == SymbolOrigin::input || kind == SymbolOrigin::constant)
      fail(node(info.producer) + " writes " + symbol(k) + ", which is an input or a constant");
  }

  void check_location(std::uint32_t k) const {
    const SymbolInfo& info = graph_.symbols()[k];
    const SymbolInfo& base = graph_.symbols()[info.base];
    if (info.root != base.root)
      fail("view " + symbol(k) + " has the root " + symbol(info.root) + ", but its base " +
           symbol(info.base) + " has the root " + symbol(base.root));
    const ViewRegion given{info.form, info.offset};
    const ViewRegion stepped = apply(graph_.view_step(graph_.at(k)), {base.form, base.offset});
    const auto text = [](const ViewRegion& r) {
      return to_string(r.form) + " at " + std::to_string(r.offset);
    };
    if (!(given == stepped))
      fail("view " + symbol(k) + " is not where its step puts it: " + text(given) +
           ", but the step gives " + text(stepped));
  }

  void check_node(std::uint32_t k) const {
    const NodeInfo& info = graph_.nodes()[k];
    for (const std::uint32_t output : info.outputs) {
      if (output == kNoIndex) continue;
      if (graph_.symbols()[output].removed)
        fail(node(k) + " writes " + symbol(output) + ", which was removed");
      if (graph_.symbols()[output].producer != k)
        fail(node(k) + " writes " + symbol(output) + ", which has another producer");
    }
    for (const std::uint32_t input : info.inputs) {
      if (input == kNoIndex) continue;
      if (graph_.symbols()[input].removed)
        fail(node(k) + " reads " + symbol(input) + ", which was removed");
      if (const auto some = unwritten(input)) fail(unwritten_read(node(k), symbol(input), *some));
    }
    for (const std::uint32_t before : info.after)
      if (graph_.nodes()[before].removed) fail(node(k) + " comes after a node that was removed");
    if (info.kind == NodeKind::command) check_forms(k);
    if (info.kind == NodeKind::copy) check_copy(k);
    if (info.kind == NodeKind::control) check_graphs(k);
    if (info.kind == NodeKind::function)
      check_function(graph_, *info.function, info.inputs, info.outputs);
  }

  void check_graphs(std::uint32_t k) const {
    const NodeInfo& info = graph_.nodes()[k];
    try {
      check_control(graph_, info);
      for (const SymbolicGraph& sub : info.control->graphs) mote::verify(sub);
    } catch (const StatusError& e) {
      fail(node(k) + ": " + e.what());
    }
    const SymbolicGraph& first = info.control->graphs[0];
    for (std::size_t o = 0; o < info.outputs.size(); ++o) {
      const TensorForm& given = first.symbols()[first.output_indices()[o]].form;
      if (graph_.symbols()[info.outputs[o]].form != given)
        fail(node(k) + " gives " + to_string(given) + ", but " + symbol(info.outputs[o]) + " is " +
             to_string(graph_.symbols()[info.outputs[o]].form));
    }
  }

  void check_copy(std::uint32_t k) const {
    const std::uint32_t from = graph_.nodes()[k].inputs[0];
    const std::uint32_t to = graph_.nodes()[k].outputs[0];
    const TensorForm& x = graph_.symbols()[from].form;
    const TensorForm& y = graph_.symbols()[to].form;
    if (x.shape != y.shape)
      fail(node(k) + " copies " + symbol(from) + " " + to_string(x) + " to " + symbol(to) + " " +
           to_string(y) + ": the shapes differ");
  }

  void check_forms(std::uint32_t k) const {
    const NodeInfo& info = graph_.nodes()[k];
    std::vector<Tensor> tensors;
    tensors.reserve(info.inputs.size());
    std::vector<const Tensor*> inputs;
    std::optional<DType> dtype;
    for (const std::uint32_t input : info.inputs) {
      inputs.push_back(nullptr);
      if (input == kNoIndex) continue;
      const SymbolInfo& read = graph_.symbols()[input];
      if (!read.has_form) return;
      const TensorForm& form = read.form;
      tensors.push_back(Tensor::over(nullptr, form.dtype, form.shape, form.strides, form.device));
      inputs.back() = &tensors.back();
    }
    for (const std::uint32_t output : info.outputs)
      if (output != kNoIndex && !dtype) dtype = graph_.symbols()[output].form->dtype;
    try {
      check_devices(graph_, *info.command, info.inputs, info.outputs);
    } catch (const StatusError& e) {
      fail(node(k) + ": " + e.what());
    }
    const std::vector<TensorForm> forms = infer(*info.command, inputs, dtype);
    for (std::size_t o = 0; o < info.outputs.size(); ++o) {
      if (info.outputs[o] == kNoIndex) continue;
      const TensorForm& given = graph_.symbols()[info.outputs[o]].form;
      if (given.dtype != forms[o].dtype || given.shape != forms[o].shape)
        fail(node(k) + " gives " + to_string(forms[o]) + ", but " + symbol(info.outputs[o]) +
             " is " + to_string(given));
    }
  }

  /// Checks that no other write of the root has an element of the symbol.
  void check_write(std::uint32_t k) {
    const std::uint32_t root = graph_.symbols()[k].root;
    if (writes_[root] == 1 && root == k) return;
    WrittenElements& parts = parts_.try_emplace(root, graph_.symbols()[root].form).first->second;
    const ViewRegion region{graph_.symbols()[k].form, graph_.symbols()[k].offset};
    parts.regions.any_overlapping(region, [&](std::uint32_t other) -> bool {
      fail(symbol(other) + " and " + symbol(k) + " share elements, and both are written, by " +
           node(writer_[other]) + " and " + node(writer_[k]));
    });
    parts.regions.add(region, k);
    parts.count += element_count(region.form);
  }

  /// Returns nothing if each element of the symbol is given, written or zero, else whether nodes
  /// write some elements of its root.
  std::optional<bool> unwritten(std::uint32_t k) const {
    const SymbolInfo& info = graph_.symbols()[k];
    const SymbolInfo& root = graph_.symbols()[info.root];
    if (root.kind != SymbolOrigin::tensor || root.producer != kNoIndex) return std::nullopt;
    if (!info.has_form || element_count(info.form) == 0) return std::nullopt;
    const auto parts = parts_.find(info.root);
    if (parts == parts_.end()) return false;
    if (parts->second.count == element_count(root.form) ||  // no two share an element
        is_covered(graph_, parts->second.regions, {info.form, info.offset}))
      return std::nullopt;
    return true;
  }

  const SymbolicGraph& graph_;
  std::vector<std::uint32_t> writer_;  ///< of each symbol: the node that has it as an output
  std::vector<std::uint32_t> writes_;  ///< of each root: the number of symbols that are written
  std::unordered_map<std::uint32_t, WrittenElements> parts_;  ///< of each root
};

}  // namespace

void verify(const SymbolicGraph& graph) { Verifier(graph).verify(); }

}  // namespace mote
