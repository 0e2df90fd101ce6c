// SPDX-License-Identifier: Apache-2.0
// The nodes of a graph: their inputs are checked, their outputs' forms are inferred, and no element
// gets a second writer.
#include <algorithm>
#include <span>

#include "check_devices.h"
#include "check_function.h"
#include "command/check_call.h"
#include "edge_key.h"
#include "fail.h"
#include "inference_cache.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {
namespace {

/// Checks that the outputs are some that the op has with these inputs, and that only those are left
/// out that may be.
void check_outputs_there(const Command& command, std::span<const std::uint32_t> inputs,
                         std::span<const std::uint32_t> outputs) {
  const mote_op_definition& op = command.definition();
  const auto count = static_cast<std::size_t>(op.output_count);
  if (outputs.size() > count)
    fail_graph(to_string(command) + " has " + std::to_string(count) + " outputs, got " +
               std::to_string(outputs.size()));
  TensorMask present = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k] != kNoIndex) present |= mask_bit(k);
  const TensorMask there = outputs_there(command, present);
  for (std::size_t k = 0; k < count; ++k) {
    const bool is_given = k < outputs.size() && outputs[k] != kNoIndex;
    const bool is_there = has(there, static_cast<int>(k));
    const auto output = [&] { return std::string("output ") + op.outputs[k].name; };
    if (is_given && !is_there)
      fail_graph(output() + " of " + to_string(command) + " is not there with these inputs");
    if (!is_given && is_there && op.outputs[k].optional == 0)
      fail_graph(output() + " of " + to_string(command) + " cannot be left out");
  }
  if (std::ranges::count(outputs, kNoIndex) == static_cast<std::ptrdiff_t>(outputs.size()))
    fail_graph(to_string(command) + " would write no output");
}

bool same_shape(const TensorForm& a, const TensorForm& b) {
  return a.dtype == b.dtype && a.shape == b.shape;
}

}  // namespace

std::uint32_t SymbolicGraph::checked(NodeSymbol node) const {
  if (!node) fail_graph("a node is missing in " + name_);
  if (node.graph != identity_)
    fail_graph("node " + std::to_string(node.index) + " belongs to another graph than " + name_);
  if (node.index >= nodes_.size()) fail_graph(name_ + " has no node " + std::to_string(node.index));
  if (nodes_[node.index].removed) fail_graph(text(node) + " was removed");
  return node.index;
}

NodeSymbol SymbolicGraph::producer(TensorSymbol symbol) const {
  const std::uint32_t node = info(symbol).producer;
  return node == kNoIndex ? NodeSymbol{} : node_at(node);
}

TensorSymbol SymbolicGraph::output(NodeSymbol node, std::size_t k) const {
  const NodeInfo& of = info(node);
  if (k >= of.outputs.size())
    fail_graph(text(node) + " has " + std::to_string(of.outputs.size()) + " outputs, asked for " +
               std::to_string(k));
  return of.outputs[k] == kNoIndex ? TensorSymbol{} : at(of.outputs[k]);
}

ShortList SymbolicGraph::checked_inputs(std::span<const TensorSymbol> inputs) const {
  ShortList indices;
  indices.reserve(inputs.size());
  for (const TensorSymbol symbol : inputs) indices.push_back(symbol ? checked(symbol) : kNoIndex);
  return indices;
}

NodeSymbol SymbolicGraph::new_node(NodeInfo&& info) {
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  if (index == kNoIndex) fail_graph("there are too many nodes", MOTE_OUT_OF_MEMORY);
  nodes_.push_back(std::move(info));
  const ShortList& outputs = nodes_.back().outputs;
  const auto is_view = [&](std::uint32_t k) { return k != kNoIndex && symbols_[k].root != k; };
  std::size_t noted = 0;
  try {
    for (; noted < outputs.size(); ++noted)
      if (is_view(outputs[noted])) note_write(outputs[noted]);
  } catch (...) {  // there was no memory
    const NodeInfo refused = std::move(nodes_.back());
    nodes_.pop_back();
    for (const std::uint32_t k : std::span(refused.outputs).first(noted))
      if (is_view(k))
        written_views_.at(symbols_[k].root).remove({symbols_[k].form, symbols_[k].offset}, k);
    throw;
  }
  for (const std::uint32_t output : outputs)
    if (output != kNoIndex) symbols_[output].producer = index;
  ++version_;
  return node_at(index);
}

/// Returns an equal command that a node has already, if one is known.
std::shared_ptr<const Command> SymbolicGraph::shared(const Command& command) {
  std::shared_ptr<const Command>& known = commands_[command.hash()];
  if (known == nullptr || *known != command) known = std::make_shared<const Command>(command);
  return known;
}

void SymbolicGraph::note_write(std::uint32_t view) {
  const std::uint32_t root = symbols_[view].root;
  written_views_.try_emplace(root, symbols_[root].form)
      .first->second.add({symbols_[view].form, symbols_[view].offset}, view);
}

/// Notes anew which views nodes write.
void SymbolicGraph::note_writes() {
  written_views_.clear();
  for (std::uint32_t k = 0; k < symbols_.size(); ++k)
    if (symbols_[k].producer != kNoIndex && symbols_[k].root != k) note_write(k);
}

/// Returns the forms of all outputs, which are valid until forms are inferred again; null if the
/// shape of an input is not known yet.
const std::vector<TensorForm>* SymbolicGraph::inferred(const Command& command,
                                                       std::span<const std::uint32_t> inputs,
                                                       std::optional<DType> dtype) {
  const mote_op_definition& op = command.definition();
  if (inputs.size() > static_cast<std::size_t>(op.input_count))
    throw StatusError(MOTE_INVALID, std::string(op.name) + ": takes at most " +
                                        std::to_string(op.input_count) + " inputs, got " +
                                        std::to_string(inputs.size()));
  const std::vector<SymbolInfo>& symbols = symbols_.read();
  for (const std::uint32_t input : inputs)
    if (input != kNoIndex && !symbols[input].has_form) return nullptr;
  if (inference_ == nullptr) inference_ = std::make_unique<detail::InferenceCache>();
  const auto form = [&](std::size_t k) {
    return inputs[k] == kNoIndex ? nullptr : &symbols[inputs[k]].form;
  };
  return &inference_->get(command, inputs.size(), form, dtype, [&] {
    std::vector<const TensorForm*> forms;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      forms.push_back(inputs[k] == kNoIndex ? nullptr : &**form(k));
    return infer(command, forms, dtype);
  });
}

/// Returns the dtype of output k, whose shape is not known yet.
DType SymbolicGraph::dtype_of(const Command& command, int k, std::span<const std::uint32_t> inputs,
                              std::optional<DType> dtype) const {
  const mote_op_definition& op = command.definition();
  if (const std::optional<DType> fixed = parse_dtype(op.outputs[k].dtype)) return *fixed;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] != kNoIndex && !parse_dtype(op.inputs[i].dtype))
      return symbols_[inputs[i]].form->dtype;
  if (!dtype)
    throw StatusError(MOTE_INVALID, std::string(op.name) + ": the dtype of " + op.outputs[k].name +
                                        " does not follow from the inputs");
  return *dtype;
}

NodeSymbol SymbolicGraph::add_node(const Command& command, std::span<const TensorSymbol> inputs,
                                   std::optional<DType> dtype) {
  NodeInfo node;
  node.inputs = checked_inputs(inputs);
  const mote_op_definition& op = command.definition();
  const std::vector<TensorForm>* const forms = inferred(command, node.inputs, dtype);
  check_devices(*this, command, node.inputs, {});
  TensorMask present = 0;
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    if (node.inputs[k] != kNoIndex) present |= mask_bit(k);
  const TensorMask there = outputs_there(command, present);
  DLDevice device{kDLCPU, 0};
  for (const std::uint32_t input : node.inputs)
    if (input != kNoIndex && symbols_[input].has_form) device = symbols_[input].form->device;
  node.command = shared(command);
  node.outputs.reserve(static_cast<std::size_t>(op.output_count));
  const std::size_t before = symbols_.size();
  try {
    for (int k = 0; k < op.output_count; ++k) {
      if (!mote::has(there, k)) {
        node.outputs.push_back(kNoIndex);
        continue;
      }
      TensorForm form;
      if (forms)
        form = (*forms)[static_cast<std::size_t>(k)];
      else
        form.dtype = dtype_of(command, k, node.inputs, dtype);
      form.device = device;
      SymbolInfo output;
      output.has_form = forms != nullptr;
      output.form = forms_.of(form);
      node.outputs.push_back(new_symbol(std::move(output)));
    }
    return new_node(std::move(node));
  } catch (...) {  // no output stays without its node
    symbols_.resize(before);
    throw;
  }
}

TensorSymbol SymbolicGraph::add(const Command& command, std::span<const TensorSymbol> inputs,
                                std::optional<DType> dtype) {
  const NodeSymbol node = add_node(command, inputs, dtype);
  for (const std::uint32_t output : nodes_[node.index].outputs)
    if (output != kNoIndex) return at(output);
  fail_graph(text(node) + " has no output");
}

TensorSymbol SymbolicGraph::add(const Command& command, std::initializer_list<TensorSymbol> inputs,
                                std::optional<DType> dtype) {
  return add(command, std::span(inputs.begin(), inputs.size()), dtype);
}

TensorSymbol SymbolicGraph::add(std::string_view command,
                                std::initializer_list<TensorSymbol> inputs,
                                std::optional<DType> dtype) {
  return add(parse_command(command, *registry_), inputs, dtype);
}

/// Throws StatusError if a node writes an element of the symbol.
void SymbolicGraph::check_unwritten(std::uint32_t symbol, const Writer& writer) const {
  const SymbolInfo& info = symbols_[symbol];
  const auto refuse = [&](std::uint32_t other) {
    fail_graph(writer() + " would write " + text(at(symbol)) + ", of which " +
               (symbols_[other].producer == kNoIndex ? "another output"
                                                     : text(node_at(symbols_[other].producer))) +
               " writes elements" + (other == symbol ? "" : ", as " + text(at(other))));
  };
  if (info.producer != kNoIndex) refuse(symbol);
  if (info.root != symbol && symbols_[info.root].producer != kNoIndex) refuse(info.root);
  const auto views = written_views_.find(info.root);
  if (views == written_views_.end()) return;
  views->second.any_overlapping(region(at(symbol)), [&](std::uint32_t other) {
    refuse(other);
    return true;
  });
}

ShortList SymbolicGraph::checked_outputs(std::span<const TensorSymbol> outputs,
                                         const Writer& writer) const {
  ShortList indices;
  indices.reserve(outputs.size());
  std::unordered_map<std::uint32_t, RegionIndex> own;
  std::unordered_set<std::uint32_t> seen;
  for (const TensorSymbol symbol : outputs) {
    if (!symbol) {
      indices.push_back(kNoIndex);
      continue;
    }
    const std::uint32_t index = checked(symbol);
    const SymbolOrigin kind = symbols_[symbols_[index].root].kind;
    if (kind == SymbolOrigin::input || kind == SymbolOrigin::constant)
      fail_graph(writer() + " would write " + text(symbol) + ", which is " +
                 (kind == SymbolOrigin::input ? "an input" : "a constant"));
    if (symbols_[index].has_form) {
      const TensorForm& form = symbols_[index].form;
      if (!form.is_row_major() &&
          !Tensor::over(nullptr, form.dtype, form.shape, form.strides, form.device).is_distinct())
        fail_graph(writer() + " would write " + text(symbol) + ", whose elements share memory");
    }
    check_unwritten(index, writer);
    if (outputs.size() > 1 && symbols_[index].has_form) {
      const std::uint32_t root = symbols_[index].root;
      RegionIndex& written = own.try_emplace(root, symbols_[root].form).first->second;
      if (!seen.insert(index).second || written.overlaps(region(symbol)))
        fail_graph(writer() + " would write " + text(symbol) + " twice");
      written.add(region(symbol), index);
    }
    indices.push_back(index);
  }
  return indices;
}

NodeSymbol SymbolicGraph::write(const Command& command, std::span<const TensorSymbol> inputs,
                                std::span<const TensorSymbol> outputs) {
  NodeInfo node;
  node.inputs = checked_inputs(inputs);
  node.outputs = checked_outputs(outputs, [&] { return to_string(command); });
  check_devices(*this, command, node.inputs, node.outputs);
  check_outputs_there(command, node.inputs, node.outputs);
  std::optional<DType> dtype;
  for (const std::uint32_t output : node.outputs)
    if (output != kNoIndex && !dtype) dtype = symbols_[output].form->dtype;
  const std::size_t count = static_cast<std::size_t>(command.definition().output_count);
  node.outputs.resize(count, kNoIndex);
  if (const std::vector<TensorForm>* const forms = inferred(command, node.inputs, dtype)) {
    for (std::size_t k = 0; k < count; ++k) {
      if (node.outputs[k] == kNoIndex) continue;
      const TensorForm& given = symbols_[node.outputs[k]].form;
      if (!same_shape(given, (*forms)[k]))
        fail_graph(to_string(command) + " gives " + to_string((*forms)[k]) + ", but " +
                   text(at(node.outputs[k])) + " is " + to_string(given));
    }
  }
  node.command = shared(command);
  return new_node(std::move(node));
}

NodeSymbol SymbolicGraph::copy(TensorSymbol x, TensorSymbol y) {
  const TensorForm& from = form(x);
  const TensorForm& to = form(y);
  if (from.shape != to.shape)
    fail_graph("copy of " + text(x) + " " + to_string(from) + " to " + text(y) + " " +
               to_string(to) + ": the shapes differ");
  NodeInfo node;
  node.kind = NodeKind::copy;
  node.inputs = {x.index};
  node.outputs = checked_outputs(std::span(&y, 1), [&] { return "copy of " + text(x); });
  return new_node(std::move(node));
}

TensorSymbol SymbolicGraph::convert(TensorSymbol x, const TensorForm& form) {
  if (this->form(x).shape != form.shape)
    fail_graph("conversion of " + text(x) + " " + to_string(this->form(x)) + " to " +
               to_string(form) + ": the shapes differ");
  const TensorSymbol y = tensor(form);
  try {
    copy(x, y);
  } catch (...) {  // no output stays without its node
    symbols_.pop_back();
    throw;
  }
  return y;
}

NodeSymbol SymbolicGraph::fill(TensorSymbol y, double value) {
  checked(y);
  NodeInfo node;
  node.kind = NodeKind::fill;
  node.value = value;
  node.outputs = checked_outputs(std::span(&y, 1), [] { return "fill"; });
  return new_node(std::move(node));
}

NodeSymbol SymbolicGraph::call(NamedFunction function, std::span<const TensorSymbol> inputs,
                               std::span<const TensorSymbol> outputs) {
  if (!function.run) fail_graph("function '" + function.name + "' is empty");
  NodeInfo node;
  node.kind = NodeKind::function;
  node.inputs = checked_inputs(inputs);
  node.outputs = checked_outputs(outputs, [&] { return "function " + function.name; });
  check_function(*this, function, node.inputs, node.outputs);
  node.function = std::make_shared<const NamedFunction>(std::move(function));
  return new_node(std::move(node));
}

void SymbolicGraph::order(NodeSymbol before, NodeSymbol after) {
  const std::uint32_t first = checked(before);
  ShortList& edges = nodes_[checked(after)].after;
  if (first == after.index) fail_graph(text(after) + " would come after itself");
  if (ordered_.insert(edge_key(first, after.index)).second) edges.push_back(first);
  ++version_;
}

}  // namespace mote
