// SPDX-License-Identifier: Apache-2.0
// Chooses and makes operands: the more of them are shared and seen through views, the more the
// passes and the planner have to decide.
#include "graph_builder.h"

#include <algorithm>

#include "graph_data.h"
#include "mote/runtime/status.h"

namespace mote::test {
namespace {

bool is_row_major(const TensorForm& form) {
  return form.strides == TensorForm(form.dtype, form.shape).strides;
}

bool broadcasts(const AxisList& from, const AxisList& to) {
  if (from.size() > to.size()) return false;
  const int missing = to.size() - from.size();
  for (int axis = 0; axis < from.size(); ++axis)
    if (from[axis] != 1 && from[axis] != to[axis + missing]) return false;
  return true;
}

/// Returns the order of axes that makes `to` of `from`; empty if there is none.
AxisList order_between(const AxisList& from, const AxisList& to) {
  AxisList order;
  if (from.size() != to.size()) return order;
  std::vector<bool> taken(static_cast<std::size_t>(from.size()));
  for (const std::int64_t extent : to) {
    int axis = 0;
    while (axis < from.size() && (taken[static_cast<std::size_t>(axis)] || from[axis] != extent))
      ++axis;
    if (axis == from.size()) return {};
    taken[static_cast<std::size_t>(axis)] = true;
    order.push_back(axis);
  }
  return order;
}

NodeOp described(const DrawableOp& op) {
  NodeOp node{op};
  const Command command = command_of(draw_call(op.name, op.dtypes.front(), 1, 0, {.most = 3}));
  const mote_op_definition& definition = command.definition();
  node.is_pointwise = command.is_pointwise();
  node.has_pair = definition.pair_count > 0;
  const mote_op_tensor& x = definition.inputs[0];
  node.takes_axis = definition.input_count == 1 && definition.output_count == 1 && x.rank >= 2 &&
                    x.rank <= 3 && std::string_view(x.axes[0]) == "R" &&
                    std::string_view(x.axes[1]) == "N";
  return node;
}

}  // namespace

std::int64_t count_of(const AxisList& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count = std::min(count * extent, kMaxElements + 1);
  return count;
}

const std::vector<NodeOp>& node_ops() {
  static const std::vector<NodeOp> ops = [] {
    std::vector<NodeOp> all;
    for (const DrawableOp& op : drawable_ops()) all.push_back(described(op));
    return all;
  }();
  return ops;
}

Command command_of(const DrawnCall& call, std::optional<int> axis) {
  std::vector<Setting> settings;
  for (const auto& param : call.params)
    std::visit([&](auto v) { settings.emplace_back(param.first, v); }, param.second);
  return Command(call.op, settings, axis);
}

GraphBuilder::GraphBuilder(std::uint64_t seed, bool has_exact_reals)
    : rng_(seed), has_exact_reals_(has_exact_reals), graph_("g") {}

void GraphBuilder::publish(TensorSymbol symbol) { values_.push_back(symbol); }

void GraphBuilder::note_read(TensorSymbol symbol) {
  if (reads_.size() < graph_.symbol_count()) reads_.resize(graph_.symbol_count() + 64);
  ++reads_[graph_.root(symbol).index];
}

TensorSymbol GraphBuilder::some_value(std::optional<DType> dtype) {
  std::vector<TensorSymbol> fit;
  std::vector<TensorSymbol> unread;
  reads_.resize(graph_.symbol_count() + 1);
  for (const TensorSymbol v : values_) {
    if (dtype && graph_.form(v).dtype != *dtype) continue;
    fit.push_back(v);
    if (reads_[graph_.root(v).index] == 0) unread.push_back(v);
  }
  if (fit.empty()) return {};
  if (!unread.empty() && rng_.chance(45)) return rng_.pick(unread);
  if (fit.size() > 6 && rng_.chance(50))
    return fit[fit.size() - 1 - static_cast<std::size_t>(rng_.below(6))];
  return rng_.pick(fit);
}

NodeSymbol GraphBuilder::some_node() {
  if (graph_.node_count() == 0) return {};
  return graph_.node_at(
      static_cast<std::uint32_t>(rng_.below(static_cast<int>(graph_.node_count()))));
}

TensorSymbol GraphBuilder::constant(DType dtype, const AxisList& shape) {
  Tensor value(dtype, shape);
  fill_tensor(value, "c", {FillName::integer, rng_.next()});
  return graph_.constant("c" + std::to_string(leaves_++), value);
}

TensorSymbol GraphBuilder::new_leaf(DType dtype, const AxisList& shape) {
  if (rng_.chance(12)) return constant(dtype, shape);
  if (rng_.chance(4)) return graph_.zeros({dtype, shape});
  if (rng_.chance(5)) {
    const TensorSymbol y = graph_.tensor({dtype, shape});
    graph_.fill(y, rng_.below(4));
    return y;
  }
  return graph_.input("x" + std::to_string(leaves_++), {dtype, shape});
}

/// Returns a view of x, by one or two steps along its axes, that has the shape; none if there is
/// none.
TensorSymbol GraphBuilder::as_view(TensorSymbol x, const AxisList& shape) {
  const AxisList from = graph_.form(x).shape;
  if (const AxisList order = order_between(from, shape); order.size() > 0 && !(from == shape))
    return graph_.permute(x, order);
  if (broadcasts(from, shape) && count_of(shape) > 0) return graph_.broadcast_to(x, shape);
  if (from.size() == shape.size() + 1 && from[0] > 0) {
    for (int axis = 0; axis < from.size(); ++axis) {
      AxisList rest = from;
      rest.erase(axis);
      if (rest == shape && from[axis] > 0)
        return graph_.select(x, axis, rng_.below(static_cast<int>(from[axis])));
    }
  }
  if (from.size() != shape.size()) return {};
  for (int axis = 0; axis < from.size(); ++axis)
    if (from[axis] < shape[axis]) return {};
  for (int axis = 0; axis < shape.size(); ++axis) {
    if (from[axis] == shape[axis]) continue;
    const std::int64_t count = shape[axis];
    const std::int64_t widest = count > 1 ? (from[axis] - 1) / (count - 1) : 1;
    const std::int64_t step = rng_.chance(30) ? std::max<std::int64_t>(1, widest) : 1;
    const std::int64_t reach = count > 0 ? (count - 1) * step + 1 : 0;
    const std::int64_t begin = rng_.below(static_cast<int>(from[axis] - reach + 1));
    x = rng_.chance(15) && count > 0 ? graph_.slice(x, axis, begin + reach - 1, count, -step)
                                     : graph_.slice(x, axis, begin, count, step);
  }
  return x;
}

/// Returns the first or other elements of x in another shape; none if x has gaps or too few.
TensorSymbol GraphBuilder::through_memory(TensorSymbol x, const AxisList& shape) {
  const TensorForm form = graph_.form(x);
  const std::int64_t wanted = count_of(shape);
  const std::int64_t count = count_of(form.shape);
  if (!is_row_major(form) || wanted == 0 || count < wanted || count > kMaxElements) return {};
  if (form.shape.size() != 1) x = graph_.reshape(x, {count});
  if (wanted < count)
    x = graph_.slice(x, 0, rng_.below(static_cast<int>(count - wanted + 1)), wanted);
  return shape.size() == 1 ? x : graph_.reshape(x, shape);
}

TensorSymbol GraphBuilder::operand(DType dtype, const AxisList& shape) {
  TensorSymbol found;
  if (!rng_.chance(22)) {
    for (int attempt = 0; attempt < 6 && !found; ++attempt) {
      const TensorSymbol x = some_value(dtype);
      if (!x) break;
      if (graph_.form(x).shape == shape) found = x;
      if (!found && attempt >= 2) found = as_view(x, shape);
      if (!found && attempt >= 3) found = through_memory(x, shape);
    }
  }
  if (!found && rng_.chance(10)) {
    const TensorSymbol x = some_value();
    if (x && graph_.form(x).shape == shape) found = graph_.convert(x, {dtype, shape});
  }
  if (!found) {
    found = new_leaf(dtype, shape);
    publish(found);
  } else if (rng_.chance(20)) {
    publish(found);
  }
  note_read(found);
  return found;
}

TensorSymbol GraphBuilder::some_view(TensorSymbol x) {
  const TensorForm form = graph_.form(x);
  const int rank = form.shape.size();
  const std::int64_t count = count_of(form.shape);
  const int axis = rank == 0 ? 0 : rng_.below(rank);
  if (count > kMaxElements) return {};
  switch (rng_.below(5)) {
    case 0: {
      if (rank == 0 || form.shape[axis] < 2) return {};
      AxisList part = form.shape;
      part[axis] = 1 + rng_.below(static_cast<int>(form.shape[axis]) - 1);
      return as_view(x, part);
    }
    case 1:
      if (rank < 2 || form.shape[axis] == 0) return {};
      return graph_.select(x, axis, rng_.below(static_cast<int>(form.shape[axis])));
    case 2: {
      if (rank < 2) return {};
      std::vector<std::int64_t> order;
      for (int k = 0; k < rank; ++k) order.push_back(k);
      rng_.shuffle(order);
      return graph_.permute(x, order);
    }
    case 3: {
      if (rank > 4 || count > 512) return {};
      std::vector<std::int64_t> shape(form.shape.begin(), form.shape.end());
      if (rng_.chance(50)) shape.insert(shape.begin(), 2 + rng_.below(2));
      for (std::int64_t& extent : shape)
        if (extent == 1 && rng_.chance(60)) extent = 2 + rng_.below(2);
      return shape.size() == static_cast<std::size_t>(rank) && form.shape == AxisList(shape)
                 ? TensorSymbol{}
                 : graph_.broadcast_to(x, shape);
    }
    default: {
      if (!is_row_major(form) || rank == 0 || count == 0) return {};
      if (rng_.chance(40) && rank > 1) return graph_.reshape(x, {count});
      for (const std::int64_t factor : {2, 3, 5})
        if (count % factor == 0 && rng_.chance(60))
          return graph_.reshape(x, {factor, count / factor});
      return graph_.reshape(x, {1, count});
    }
  }
}

}  // namespace mote::test
