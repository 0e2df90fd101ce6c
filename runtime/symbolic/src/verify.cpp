// SPDX-License-Identifier: Apache-2.0
// The rules of a graph, which a pass must keep.
#include <algorithm>

#include "fail.h"
#include "mote/symbolic/dependencies.h"

namespace mote {
namespace {

class Verifier {
 public:
  explicit Verifier(const SymbolicGraph& graph) : graph_(graph), written_(writers(graph)) {}

  void verify() {
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k)
      if (!graph_.symbols()[k].removed) check_symbol(k);
    for (std::uint32_t k = 0; k < graph_.node_count(); ++k)
      if (!graph_.nodes()[k].removed) check_node(k);
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k)
      if (!graph_.symbols()[k].removed && graph_.symbols()[k].root == k) check_writes(k);
    for (const std::uint32_t output : graph_.output_indices()) {
      if (graph_.symbols()[output].removed) fail("an output was removed: " + symbol(output));
      check_read(output, "output " + symbol(output));
    }
    topological_order(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_graph(graph_.name() + ": " + what); }
  std::string symbol(std::uint32_t k) const { return graph_.text(graph_.at(k)); }
  std::string node(std::uint32_t k) const { return graph_.text(graph_.node_at(k)); }

  void check_symbol(std::uint32_t k) const {
    const SymbolInfo& info = graph_.symbols()[k];
    if (info.kind == SymbolKind::view) {
      if (info.base >= graph_.symbol_count() || graph_.symbols()[info.base].removed)
        fail("view " + symbol(k) + " is of a symbol that was removed");
      const Region region =
          apply(graph_.view_step(graph_.at(k)), graph_.region(graph_.at(info.base)));
      if (info.has_form && region != graph_.region(graph_.at(k)))
        fail("view " + symbol(k) + " is " + to_string(info.form) + ", but its step gives " +
             to_string(region.form));
    }
    if (info.producer == kNoIndex) return;
    const NodeInfo& producer = graph_.nodes()[info.producer];
    if (producer.removed || std::ranges::find(producer.outputs, k) == producer.outputs.end())
      fail(symbol(k) + " names " + node(info.producer) +
           " as its producer, which does not write it");
    const SymbolKind kind = graph_.symbols()[info.root].kind;
    if (kind == SymbolKind::input || kind == SymbolKind::constant)
      fail(node(info.producer) + " writes " + symbol(k) + ", which is an input or a constant");
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
      check_read(input, node(k) + " reads " + symbol(input));
    }
    for (const std::uint32_t before : info.after)
      if (graph_.nodes()[before].removed) fail(node(k) + " comes after a node that was removed");
    if (info.kind == NodeKind::command) check_forms(k);
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
      if (output != kNoIndex && !dtype) dtype = graph_.symbols()[output].form.dtype;
    const std::vector<TensorForm> forms = infer(*info.command, inputs, dtype);
    for (std::size_t o = 0; o < info.outputs.size(); ++o) {
      if (info.outputs[o] == kNoIndex) continue;
      const TensorForm& given = graph_.symbols()[info.outputs[o]].form;
      if (given.dtype != forms[o].dtype || given.shape != forms[o].shape)
        fail(node(k) + " gives " + to_string(forms[o]) + ", but " + symbol(info.outputs[o]) +
             " is " + to_string(given));
    }
  }

  std::vector<std::uint32_t> written_symbols(std::uint32_t root) const {
    std::vector<std::uint32_t> symbols;
    for (const std::uint32_t k : written_[root])
      for (const std::uint32_t output : graph_.nodes()[k].outputs)
        if (output != kNoIndex && graph_.symbols()[output].root == root) symbols.push_back(output);
    return symbols;
  }

  /// Checks that no two writes of the root share an element.
  void check_writes(std::uint32_t root) const {
    struct Write {
      std::int64_t begin;
      std::int64_t end;
      std::uint32_t symbol;
    };
    std::vector<Write> writes;
    for (const std::uint32_t k : written_symbols(root)) {
      const Region region = graph_.region(graph_.at(k));
      Write w{region.offset, region.offset + 1, k};
      for (int axis = 0; axis < region.form.shape.size(); ++axis) {
        const std::int64_t reach = (region.form.shape[axis] - 1) * region.form.strides[axis];
        (reach < 0 ? w.begin : w.end) += reach;
      }
      writes.push_back(w);
    }
    std::ranges::sort(writes, {}, &Write::begin);
    std::int64_t longest = 0;
    for (const Write& w : writes) longest = std::max(longest, w.end - w.begin);
    for (std::size_t a = 0; a < writes.size(); ++a)
      for (std::size_t b = a + 1; b < writes.size() && writes[b].begin < writes[a].end; ++b)
        if (overlap(graph_.region(graph_.at(writes[a].symbol)),
                    graph_.region(graph_.at(writes[b].symbol))))
          fail(symbol(writes[a].symbol) + " and " + symbol(writes[b].symbol) +
               " share elements, and both are written, by " +
               node(graph_.symbols()[writes[a].symbol].producer) + " and " +
               node(graph_.symbols()[writes[b].symbol].producer));
  }

  /// Checks that each element of the symbol is given, written or zero.
  void check_read(std::uint32_t k, const std::string& who) const {
    const SymbolInfo& info = graph_.symbols()[k];
    const SymbolInfo& root = graph_.symbols()[info.root];
    if (root.kind != SymbolKind::tensor || root.producer != kNoIndex) return;
    if (!info.has_form) return;
    const Region read = graph_.region(graph_.at(k));
    std::int64_t written = 0;
    for (const std::uint32_t w : written_symbols(info.root)) {
      const Region region = graph_.region(graph_.at(w));
      if (contains(region, read)) return;
      written += element_count(region.form);
    }
    if (written == element_count(root.form)) return;  // disjoint writes that fill the root
    if (element_count(info.form) == 0) return;
    if (!is_covered(k, read)) fail(who + ", of which some elements are not written");
  }

  /// Decides for each element of the region whether some write covers it.
  bool is_covered(std::uint32_t k, const Region& read) const {
    const std::uint32_t root = graph_.symbols()[k].root;
    const std::vector<std::uint32_t> writes = written_symbols(root);
    std::vector<std::int64_t> index(static_cast<std::size_t>(read.form.shape.size()));
    std::int64_t offset = read.offset;
    while (true) {
      const Region element{{read.form.dtype, AxisList{}}, offset};
      const auto covers = [&](std::uint32_t w) {
        return overlap(graph_.region(graph_.at(w)), element);
      };
      if (std::ranges::none_of(writes, covers)) return false;
      int axis = read.form.shape.size() - 1;
      for (; axis >= 0; --axis) {
        std::int64_t& i = index[static_cast<std::size_t>(axis)];
        offset += read.form.strides[axis];
        if (++i < read.form.shape[axis]) break;
        offset -= read.form.shape[axis] * read.form.strides[axis];
        i = 0;
      }
      if (axis < 0) return true;
    }
  }

  const SymbolicGraph& graph_;
  IndexLists written_;
};

}  // namespace

void verify(const SymbolicGraph& graph) { Verifier(graph).verify(); }

}  // namespace mote
