// SPDX-License-Identifier: Apache-2.0
// The symbols of a graph: how they are made, named and found; symbols and nodes as text.
#include <algorithm>
#include <atomic>
#include <utility>

#include "dependency_cache.h"
#include "fail.h"
#include "inference_cache.h"
#include "mote/base/error.h"
#include "mote/base/near_names.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/symbolic_graph.h"
#include "sequence/sequence_ops.h"

namespace mote {
namespace {

std::uint32_t new_identity() {
  static std::atomic<std::uint32_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

TensorForm form_of_value(const Tensor& value) {
  return {value.dtype(), value.shape(), value.strides(), value.device()};
}

}  // namespace

SharedForm::SharedForm() {
  static const auto none = std::make_shared<const TensorForm>();
  form_ = none;
}

SymbolicGraph::SymbolicGraph(std::string name, const Registry& registry)
    : name_(std::move(name)),
      registry_(&registry),
      identity_(new_identity()),
      dependencies_(std::make_shared<detail::DependencyCache>()) {
  if (registry_ == &Registry::global()) register_sequence_ops();
}

SymbolicGraph::SymbolicGraph(const SymbolicGraph& other) : SymbolicGraph(other, Copying::deep) {}

SymbolicGraph::SymbolicGraph(const SymbolicGraph& other, Copying how)
    : name_(other.name_),
      registry_(other.registry_),
      identity_(new_identity()),
      version_(other.version_),
      symbols_(other.symbols_),
      nodes_(other.nodes_),
      outputs_(other.outputs_),
      steps_(other.steps_),
      values_(other.values_),
      forms_(other.forms_),
      by_name_(other.by_name_),
      written_views_(other.written_views_),
      ordered_(other.ordered_),
      attributes_(std::make_unique<detail::AttributeTable>(*other.attributes_)),
      dependencies_(std::make_shared<detail::DependencyCache>()) {
  if (how == Copying::shared) return;
  symbols_.own();
  nodes_.own();
  by_name_.own();
}

SymbolicGraph::SymbolicGraph(SymbolicGraph&&) noexcept = default;
SymbolicGraph& SymbolicGraph::operator=(SymbolicGraph&&) noexcept = default;
SymbolicGraph::~SymbolicGraph() = default;

SymbolicGraph& SymbolicGraph::operator=(const SymbolicGraph& other) {
  if (this != &other) *this = SymbolicGraph(other);
  return *this;
}

std::uint32_t SymbolicGraph::checked(TensorSymbol symbol) const {
  if (!symbol) fail_graph("a symbol is missing in " + name_);
  if (symbol.graph != identity_)
    fail_graph("symbol " + std::to_string(symbol.index) + " belongs to another graph than " +
               name_);
  if (symbol.index >= symbols_.size())
    fail_graph(name_ + " has no symbol " + std::to_string(symbol.index));
  if (symbols_[symbol.index].removed)
    fail_graph("symbol " + text(symbol) + " was removed" + reader_of(symbol.index));
  return symbol.index;
}

/// Returns ", and node 7 'h' (matmul) reads it", or nothing.
std::string SymbolicGraph::reader_of(std::uint32_t symbol) const {
  for (std::uint32_t k = 0; k < nodes_.size(); ++k)
    if (!nodes_[k].removed && std::ranges::find(nodes_[k].inputs, symbol) != nodes_[k].inputs.end())
      return ", and " + text(node_at(k)) + " reads it";
  return "";
}

/// Lets the name stand for that symbol, unless another one has it.
void SymbolicGraph::add_name(std::string_view name, std::uint32_t index) {
  const std::vector<SymbolInfo>& symbols = symbols_.read();
  if (!by_name_.own().add(name, index,
                          [&](std::uint32_t k) -> const std::string& { return symbols[k].name; }))
    fail_graph("two symbols of " + name_ + " would have the name '" + std::string(name) + "'");
}

/// Returns the index of the symbol of that name; kNoIndex: none has it.
std::uint32_t SymbolicGraph::index_of(std::string_view name) const {
  const std::vector<SymbolInfo>& symbols = symbols_.read();
  return by_name_.read().find(
      name, [&](std::uint32_t k) -> const std::string& { return symbols[k].name; });
}

std::uint32_t SymbolicGraph::new_symbol(SymbolInfo&& info) {
  const auto index = static_cast<std::uint32_t>(symbols_.size());
  if (index == kNoIndex) fail_graph("there are too many symbols", MOTE_OUT_OF_MEMORY);
  if (info.root == kNoIndex) info.root = index;
  symbols_.push_back(std::move(info));
  const std::string& name = symbols_.read().back().name;
  try {
    if (!name.empty()) add_name(name, index);
  } catch (...) {  // another one has the name, or there was no memory
    symbols_.pop_back();
    throw;
  }
  ++version_;
  return index;
}

TensorSymbol SymbolicGraph::input(std::string_view name, const TensorForm& form) {
  if (name.empty()) fail_graph("an input needs a name");
  SymbolInfo info;
  info.name = name;
  info.kind = SymbolOrigin::input;
  info.form = forms_.of(form);
  return at(new_symbol(std::move(info)));
}

TensorSymbol SymbolicGraph::input(std::string_view name, DType dtype) {
  const TensorSymbol symbol = input(name, {dtype, {0}});
  symbols_[symbol.index].has_form = false;
  return symbol;
}

TensorSymbol SymbolicGraph::constant(std::string_view name, const Tensor& value) {
  if (value.data() == nullptr && value.element_count() > 0)
    fail_graph("constant '" + std::string(name) + "' has no data");
  SymbolInfo info;
  info.name = name;
  info.kind = SymbolOrigin::constant;
  info.form = forms_.of(form_of_value(value));
  info.side = static_cast<std::uint32_t>(values_.size());
  values_.push_back(value);
  return at(new_symbol(std::move(info)));
}

TensorSymbol SymbolicGraph::tensor(const TensorForm& form, std::string_view name) {
  SymbolInfo info;
  info.name = name;
  info.form = forms_.of(form);
  return at(new_symbol(std::move(info)));
}

TensorSymbol SymbolicGraph::zeros(const TensorForm& form, std::string_view name) {
  const TensorSymbol symbol = tensor(form, name);
  symbols_[symbol.index].kind = SymbolOrigin::zeros;
  return symbol;
}

void SymbolicGraph::rename(TensorSymbol symbol, std::string_view name) {
  SymbolInfo& info = symbols_[checked(symbol)];
  if (info.name == name) return;
  if (name.empty() && info.kind == SymbolOrigin::input) fail_graph("an input needs a name");
  std::string text(name);
  if (!name.empty()) add_name(name, symbol.index);
  if (!info.name.empty()) by_name_.own().remove(info.name, symbol.index);
  info.name = std::move(text);
}

void SymbolicGraph::rename(NodeSymbol node, std::string_view name) {
  nodes_[checked(node)].name = name;
}

void SymbolicGraph::reserve(std::size_t symbols, std::size_t nodes) {
  symbols_.reserve(symbols);
  nodes_.reserve(nodes);
}

void SymbolicGraph::set_outputs(std::span<const TensorSymbol> outputs) {
  std::vector<std::uint32_t> indices;
  for (const TensorSymbol symbol : outputs) indices.push_back(checked(symbol));
  outputs_ = std::move(indices);
  ++version_;
}

std::vector<TensorSymbol> SymbolicGraph::outputs() const {
  std::vector<TensorSymbol> symbols;
  for (const std::uint32_t index : outputs_) symbols.push_back(at(index));
  return symbols;
}

bool SymbolicGraph::is_output(TensorSymbol symbol) const {
  return std::ranges::find(outputs_, checked(symbol)) != outputs_.end();
}

const TensorForm& SymbolicGraph::form(TensorSymbol symbol) const {
  const SymbolInfo& of = info(symbol);
  if (!of.has_form) fail_graph("the shape of " + text(symbol) + " is not known yet");
  return of.form;
}

const Tensor& SymbolicGraph::value(TensorSymbol constant) const {
  const SymbolInfo& of = info(constant);
  if (of.kind != SymbolOrigin::constant) fail_graph(text(constant) + " is no constant");
  return values_[of.side];
}

bool SymbolicGraph::has(std::string_view name) const { return index_of(name) != kNoIndex; }

TensorSymbol SymbolicGraph::find(std::string_view name) const {
  if (const std::uint32_t index = index_of(name); index != kNoIndex) return at(index);
  std::vector<std::string> known;
  for (const SymbolInfo& info : symbols_)
    if (!info.removed && !info.name.empty()) known.push_back(info.name);
  fail_graph(name_ + " has no symbol '" + std::string(name) + "'" + did_you_mean(name, known));
}

std::string SymbolicGraph::text(TensorSymbol symbol) const {
  if (symbol.graph != identity_ || symbol.index >= symbols_.size()) return "?";
  const std::string& name = symbols_[symbol.index].name;
  return name.empty() ? "t" + std::to_string(symbol.index) : name;
}

std::string SymbolicGraph::text(NodeSymbol node) const {
  if (node.graph != identity_ || node.index >= nodes_.size()) return "node ?";
  const NodeInfo& info = nodes_[node.index];
  std::string text = "node " + std::to_string(node.index);
  if (info.removed) return text;
  if (!info.name.empty())
    text += " '" + info.name + "'";
  else if (!info.outputs.empty() && info.outputs[0] != kNoIndex)
    text += " '" + this->text(at(info.outputs[0])) + "'";
  switch (info.kind) {
    case NodeKind::command:
      return text + " (" + to_string(*info.command) + ")";
    case NodeKind::copy:
      return text + " (copy)";
    case NodeKind::fill:
      return text + " (fill)";
    case NodeKind::function:
      return text + " (function " + info.function->name + ")";
    case NodeKind::control:
      return text + (info.control->is_loop ? " (while)" : " (case..of)");
  }
  return text;
}

}  // namespace mote
