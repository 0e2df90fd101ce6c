// SPDX-License-Identifier: Apache-2.0
// Nodes of commands: drawn by the oracle's generator, pointwise, along an axis, and in chains.
#include "random_nodes.h"

#include <algorithm>

#include "mote/runtime/status.h"

namespace mote::test {
namespace {

/// Leaves out some outputs that the op's definition allows to be absent; one stays.
void leave_some_out(GraphBuilder& b, NodeSymbol node) {
  SymbolicGraph& g = b.graph();
  const mote_op_definition& op = g.info(node).command->definition();
  for (int k = 0; k < op.output_count; ++k) {
    const auto position = static_cast<std::size_t>(k);
    const ShortList& outputs = g.info(node).outputs;
    const auto present = std::ranges::count_if(outputs, [](auto o) { return o != kNoIndex; });
    if (present < 2 || outputs[position] == kNoIndex || op.outputs[k].optional == 0) continue;
    if (b.rng().chance(25)) g.leave_out(node, position);
  }
}

/// Adds the node and publishes its outputs; false if the inputs do not fit.
bool add_command(GraphBuilder& b, const Command& command, std::span<const TensorSymbol> inputs,
                 DType dtype) {
  SymbolicGraph& g = b.graph();
  NodeSymbol node;
  try {
    node = g.add_node(command, inputs, dtype);
  } catch (const StatusError&) {
    return false;
  }
  leave_some_out(b, node);
  for (const TensorSymbol x : inputs)
    if (x) b.note_read(x);
  for (const std::uint32_t output : g.info(node).outputs)
    if (output != kNoIndex) b.publish(g.at(output));
  return true;
}

bool is_small(const DrawnCall& call) {
  const auto small = [](const DrawnTensor& t) { return count_of(t.shape) <= kMaxElements; };
  return std::ranges::all_of(call.outputs, small) &&
         std::ranges::all_of(call.inputs, [&](const auto& x) { return !x || small(*x); });
}

template <typename Accept>
const NodeOp* some_op(GraphBuilder& b, const NodeChoice& choice, const Accept& accept) {
  const std::vector<NodeOp>& ops = choice.ops != nullptr ? *choice.ops : node_ops();
  for (int attempt = 0; attempt < 200; ++attempt) {
    const NodeOp& op = b.rng().pick(ops);
    const std::vector<DType>& dtypes = op.op.dtypes;
    if (choice.dtype && std::ranges::find(dtypes, *choice.dtype) == dtypes.end()) continue;
    if (op.op.gradient_order > 0 && !b.rng().chance(op.op.gradient_order > 1 ? 10 : 35)) continue;
    if (accept(op)) return &op;
  }
  return nullptr;
}

DType some_dtype(GraphBuilder& b, const NodeOp& op, const NodeChoice& choice) {
  if (choice.dtype) return *choice.dtype;
  // Narrow reals and integers are met, but most values are f32, so that nodes find each other.
  return b.rng().chance(70) ? op.op.dtypes.front() : b.rng().pick(op.op.dtypes);
}

/// Returns the shape, or one that broadcasts to it.
AxisList narrowed(Rng& rng, const AxisList& shape) {
  if (!rng.chance(30)) return shape;
  AxisList narrow = shape;
  for (int axis = 0; axis < narrow.size(); ++axis)
    if (rng.chance(50)) narrow[axis] = 1;
  while (narrow.size() > 0 && narrow[0] == 1 && rng.chance(60)) narrow.erase(0);
  return narrow;
}

/// Returns the command, or one of the same op with other parameters if it works element by element,
/// so that its outputs have the same shape.
Command same_or_other_parameters(GraphBuilder& b, const Command& command, DType dtype) {
  if (!b.rng().chance(40)) return command;
  const std::string name = command.definition().name;
  const auto is_drawable = [&](const NodeOp& op) {
    return op.op.name == name && op.is_pointwise &&
           std::ranges::find(op.op.dtypes, dtype) != op.op.dtypes.end();
  };
  if (std::ranges::none_of(node_ops(), is_drawable)) return command;
  return command_of(draw_call(name, dtype, b.rng().next(), 0, {.most = 3}));
}

}  // namespace

bool add_drawn(GraphBuilder& b, const NodeChoice& choice) {
  const NodeOp* op = some_op(b, choice, [](const NodeOp&) { return true; });
  if (op == nullptr) return false;
  const DType dtype = some_dtype(b, *op, choice);
  CallWishes wishes{.most = b.rng().pick<std::int64_t>({3, 5, 8})};
  if (const TensorSymbol x = b.some_value(dtype); x && b.rng().chance(60)) {
    const AxisList shape = b.graph().form(x).shape;
    wishes.input = static_cast<std::size_t>(b.rng().below(3));
    wishes.shape.assign(shape.begin(), shape.end());
  }
  const DrawnCall call = draw_call(op->op.name, dtype, b.rng().next(), 0, wishes);
  if (!is_small(call)) return false;
  std::vector<TensorSymbol> inputs;
  for (const auto& x : call.inputs)
    inputs.push_back(x ? b.operand(x->dtype, x->shape) : TensorSymbol{});
  return add_command(b, command_of(call), inputs, call.dtype);
}

bool add_op(GraphBuilder& b, std::size_t number, std::optional<DType> dtype) {
  const std::vector<NodeOp> one = {node_ops()[number]};
  const std::vector<DType>& dtypes = one[0].op.dtypes;
  if (dtype && std::ranges::find(dtypes, *dtype) == dtypes.end()) dtype.reset();
  for (int attempt = 0; attempt < 40; ++attempt)
    if (add_drawn(b, {&one, dtype})) return true;
  return false;
}

bool add_random(GraphBuilder& b, const NodeChoice& choice) {
  static const std::vector<NodeOp> random = [] {
    std::vector<NodeOp> found;
    for (const NodeOp& op : node_ops())
      if (op.op.family == "random") found.push_back(op);
    return found;
  }();
  return add_drawn(b, {&random, choice.dtype});
}

bool add_pattern(GraphBuilder& b, const NodeChoice& choice) {
  static const std::vector<NodeOp> convolutions = [] {
    std::vector<NodeOp> found;
    for (const NodeOp& op : node_ops())
      if (op.op.name == "conv2d") found.push_back(op);
    return found;
  }();
  if (choice.dtype && !is_real(*choice.dtype)) return false;
  if (!add_drawn(b, {&convolutions, choice.dtype})) return false;
  const TensorSymbol x = b.values().back();
  return add_command(b, Command("relu"), std::vector<TensorSymbol>{x}, b.graph().form(x).dtype);
}

bool add_pointwise(GraphBuilder& b, const NodeChoice& choice) {
  const TensorSymbol first = b.some_value(choice.dtype);
  if (!first) return false;
  const TensorForm form = b.graph().form(first);
  const NodeOp* op =
      some_op(b, {choice.ops, form.dtype}, [](const NodeOp& o) { return o.is_pointwise; });
  if (op == nullptr) return false;
  const DrawnCall call = draw_call(op->op.name, form.dtype, b.rng().next(), 0, {.most = 3});
  std::vector<TensorSymbol> inputs;
  bool is_used = false;
  for (const auto& x : call.inputs) {
    if (!x) {
      inputs.emplace_back();
    } else if (!is_used && x->dtype == form.dtype) {
      inputs.push_back(first);
      is_used = true;
    } else if (x->dtype == form.dtype && b.rng().chance(10)) {
      inputs.push_back(first);
    } else {
      inputs.push_back(b.operand(x->dtype, narrowed(b.rng(), form.shape)));
    }
  }
  return is_used && add_command(b, command_of(call), inputs, call.dtype);
}

bool add_along_axis(GraphBuilder& b, const NodeChoice& choice) {
  const TensorSymbol x = b.some_value(choice.dtype);
  if (!x) return false;
  const TensorForm form = b.graph().form(x);
  if (form.shape.size() == 0 || count_of(form.shape) == 0) return false;
  const NodeOp* op =
      some_op(b, {choice.ops, form.dtype}, [](const NodeOp& o) { return o.takes_axis; });
  if (op == nullptr) return false;
  const DrawnCall call = draw_call(op->op.name, form.dtype, b.rng().next(), 0, {.most = 3});
  const std::vector<TensorSymbol> inputs = {x};
  return add_command(b, command_of(call, b.rng().below(form.shape.size())), inputs, call.dtype);
}

bool add_chain(GraphBuilder& b, const NodeChoice& choice) {
  TensorSymbol x = b.some_value(choice.dtype);
  if (!x) return false;
  const TensorForm form = b.graph().form(x);
  const int length = 2 + b.rng().below(4);
  int added = 0;
  for (int k = 0; k < length; ++k) {
    const NodeOp* op = some_op(b, {choice.ops, form.dtype},
                               [](const NodeOp& o) { return o.is_pointwise && o.has_pair; });
    if (op == nullptr) break;
    const DrawnCall call = draw_call(op->op.name, form.dtype, b.rng().next(), 0, {.most = 3});
    std::vector<TensorSymbol> inputs;
    for (const auto& input : call.inputs)
      inputs.push_back(!input ? TensorSymbol{}
                       : inputs.empty() && input->dtype == form.dtype
                           ? x
                           : b.operand(input->dtype, form.shape));
    if (!add_command(b, command_of(call), inputs, call.dtype)) break;
    const TensorSymbol y = b.values().back();
    if (!(b.graph().form(y) == b.graph().form(x)) && k > 0) break;
    x = y;
    ++added;
    if (b.graph().form(x).dtype != form.dtype || !(b.graph().form(x).shape == form.shape)) break;
  }
  return added > 0;
}

bool add_duplicate(GraphBuilder& b) {
  SymbolicGraph& g = b.graph();
  const NodeSymbol node = b.some_node();
  if (!node || g.info(node).kind != NodeKind::command) return false;
  const NodeInfo info = g.info(node);
  DType dtype = DType::f32;
  bool is_first = true;
  std::vector<TensorSymbol> inputs;
  for (const std::uint32_t input : info.inputs) {
    if (input == kNoIndex) {
      inputs.emplace_back();
      continue;
    }
    TensorSymbol x = g.at(input);
    // Another view symbol of the same elements is an equal operand.
    if (g.info(x).kind == SymbolOrigin::view && b.rng().chance(50))
      x = g.view(g.at(g.info(x).base), ViewStep(g.view_step(x)));
    inputs.push_back(x);
  }
  for (const std::uint32_t output : info.outputs) {
    if (output == kNoIndex || !is_first) continue;
    dtype = g.symbols()[output].form->dtype;
    is_first = false;
  }
  return add_command(b, same_or_other_parameters(b, *info.command, dtype), inputs, dtype);
}

}  // namespace mote::test
