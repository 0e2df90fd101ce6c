// SPDX-License-Identifier: Apache-2.0
// The pass cancel: a tensor that another one was only moved into, there and back, is read as that
// one. Moves are copies, casts to a dtype that holds every value, transposes, and permuted views of
// their results; ops that are their own inverse, bit for bit (the attribute "involution"), count
// too. Forms are equal with their strides, so that the same kernels run as before. A signalling NaN
// stays one, where a conversion would have made it quiet.
#include <algorithm>
#include <cmath>
#include <optional>

#include "dependency_cache.h"
#include "mote/symbolic/dependencies.h"
#include "passes/registered.h"
#include "passes/substitute.h"

namespace mote {
namespace {

/// True if a value of `from` has the same bits after a conversion to `to` and back. A NaN of 16
/// bits loses its sign then.
bool holds(DType to, DType from) {
  if (to == from) return true;
  if (is_narrow(from)) return false;
  const DTypeInfo& a = info(from);
  const DTypeInfo& b = info(to);
  if (a.kind == DTypeInfo::Kind::boolean || b.kind == DTypeInfo::Kind::boolean) return false;
  if (a.kind == DTypeInfo::Kind::integer && b.kind == DTypeInfo::Kind::integer)
    return b.range.least <= a.range.least && b.range.greatest >= a.range.greatest;
  if (a.kind == DTypeInfo::Kind::integer)
    return std::ldexp(1.0, b.format.precision) >= -static_cast<double>(a.range.least) &&
           std::ldexp(1.0, b.format.precision) > static_cast<double>(a.range.greatest);
  return b.kind == DTypeInfo::Kind::real && b.format.precision >= a.format.precision &&
         b.format.least_exponent <= a.format.least_exponent &&
         b.format.greatest >= a.format.greatest;
}

/// An element [i0, i1, …] of the one tensor is element [i_order[0], i_order[1], …] of the other.
using Order = std::vector<int>;

Order identity(int rank) {
  Order order(static_cast<std::size_t>(rank));
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int>(k);
  return order;
}

class Canceller {
 public:
  explicit Canceller(SymbolicGraph& graph)
      : graph_(graph),
        equal_(graph),
        involutions_(graph.registry().column(kInvolution)),
        by_op_(graph.registry().size()),
        is_ordered_(detail::ordered_nodes(graph)) {}

  std::string cancel() {
    std::vector<std::uint32_t> removed;
    const auto nodes = detail::node_table(graph_);
    for (const std::uint32_t node : topological_order(graph_)) {
      if (!may_cancel(*nodes, node)) continue;
      const std::optional<std::uint32_t> origin = origin_of(node);
      if (!origin) continue;
      equal_.add(graph_.nodes()[node].outputs.front(), *origin);
      removed.push_back(node);
    }
    if (removed.empty()) return "";
    for (const std::uint32_t node : removed) graph_.remove(graph_.node_at(node));
    equal_.apply();
    return count_of(removed.size(), "node") + " undone";
  }

 private:
  const SymbolInfo& symbol(std::uint32_t k) const { return graph_.symbols()[k]; }

  /// False if the node surely neither moves its input nor undoes what its input is, by its op.
  bool may_cancel(const detail::NodeTable& nodes, std::uint32_t node) {
    if (nodes.kind(node) == NodeKind::copy) return true;
    if (nodes.op(node) == kNoIndex) return false;
    Answer& known = by_op_[nodes.op(node)];
    if (known == Answer::open) {
      const Command& command = *graph_.nodes()[node].command;
      const std::string_view op = command.definition().name;
      known = op.starts_with("cast_") || op == "transpose" || is_own_inverse(command) ? Answer::yes
                                                                                      : Answer::no;
    }
    return known == Answer::yes;
  }

  /// A node that moves elements: from which symbol, and in which order of axes.
  struct Move {
    std::uint32_t source;
    Order order;
  };

  std::optional<Move> move_of(std::uint32_t k) const {
    const NodeInfo& node = graph_.nodes()[k];
    if (node.inputs.size() != 1 || node.outputs.size() != 1) return std::nullopt;
    const std::uint32_t x = node.inputs.front();
    if (x == kNoIndex || node.outputs.front() == kNoIndex || !symbol(x).has_form)
      return std::nullopt;
    const int rank = symbol(x).form->shape.size();
    if (node.kind == NodeKind::copy) return Move{x, identity(rank)};
    if (node.kind != NodeKind::command || node.command->axis()) return std::nullopt;
    const std::string_view op = node.command->definition().name;
    if (op.starts_with("cast_") && node.command->is_pointwise()) return Move{x, identity(rank)};
    if (op != "transpose" || rank < 2) return std::nullopt;
    Order order = identity(rank);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return Move{x, order};
  }

  /// Returns the order of axes in which the view goes over all of its root; none if it does not.
  std::optional<Order> order_in_root(std::uint32_t view) const {
    const SymbolInfo& of = symbol(view);
    const TensorForm& root = symbol(of.root).form;
    if (of.offset != 0 || of.form->shape.size() != root.shape.size()) return std::nullopt;
    Order order(static_cast<std::size_t>(root.shape.size()), -1);
    for (int axis = 0; axis < root.shape.size(); ++axis) {
      // Axis `axis` of the root is the one of the view that has its extent and stride.
      int found = 0;
      for (; found < root.shape.size(); ++found) {
        const auto k = static_cast<std::size_t>(found);
        if (order[k] < 0 && of.form->shape[found] == root.shape[axis] &&
            (root.shape[axis] == 1 || of.form->strides[found] == root.strides[axis]))
          break;
      }
      if (found == root.shape.size()) return std::nullopt;
      order[static_cast<std::size_t>(found)] = axis;
    }
    return order;
  }

  /// The most moves that are followed.
  static constexpr int kMaxMoves = 16;

  /// Returns the symbol that the node's output equals; none if it is none or nothing is gained.
  std::optional<std::uint32_t> origin_of(std::uint32_t k) const {
    const NodeInfo& node = graph_.nodes()[k];
    if (node.recomputed != 0 || is_ordered_[k]) return std::nullopt;
    if (const auto origin = origin_of_involution(k)) return origin;
    std::optional<Move> move = move_of(k);
    if (!move) return std::nullopt;
    const std::uint32_t y = node.outputs.front();
    if (symbol(y).kind != SymbolOrigin::tensor || !symbol(y).has_form) return std::nullopt;
    std::optional<std::uint32_t> origin;
    std::vector<DType> between;
    Order order = move->order;  // axis i of y is axis order[i] of the source
    std::uint32_t at = move->source;
    for (int moves = 0; moves < kMaxMoves; ++moves) {
      at = equal_.end(at);
      if (is_origin(at, y, order, between)) origin = at;
      if (symbol(at).kind == SymbolOrigin::view) {
        const std::optional<Order> in_root = order_in_root(at);
        if (!in_root) break;
        order = after(order, *in_root);
        at = equal_.end(symbol(at).root);
        if (is_origin(at, y, order, between)) origin = at;
      }
      if (symbol(at).producer == kNoIndex) break;
      move = move_of(symbol(at).producer);
      if (!move) break;
      between.push_back(symbol(at).form->dtype);
      order = after(order, move->order);
      at = move->source;
    }
    const bool is_in_place_of_copy = node.kind == NodeKind::copy && graph_.is_output(graph_.at(y));
    if (origin && is_in_place_of_copy && equal_.end(node.inputs.front()) == *origin)
      return std::nullopt;
    return origin;
  }

  static Order after(const Order& first, const Order& second) {
    Order order(first.size());
    for (std::size_t k = 0; k < first.size(); ++k)
      order[k] = second[static_cast<std::size_t>(first[k])];
    return order;
  }

  bool is_origin(std::uint32_t x, std::uint32_t y, const Order& order,
                 const std::vector<DType>& between) const {
    const TensorForm& form = symbol(y).form;
    if (!symbol(x).has_form || symbol(x).form != form) return false;
    for (std::size_t k = 0; k < order.size(); ++k)
      if (form.shape[static_cast<int>(k)] != 1 && order[k] != static_cast<int>(k)) return false;
    return std::ranges::all_of(between, [&](DType dtype) { return holds(dtype, form.dtype); });
  }

  bool is_own_inverse(const Command& command) const {
    if (const bool* is_involution = involutions_.find(command.op())) return *is_involution;
    const std::string_view op = command.definition().name;
    return op == "flip" || op == "neg" || op == "bitwise_not";
  }

  /// y = f(f(x)) is x if f is its own inverse.
  std::optional<std::uint32_t> origin_of_involution(std::uint32_t k) const {
    const NodeInfo& outer = graph_.nodes()[k];
    if (outer.kind != NodeKind::command || outer.inputs.size() != 1 || outer.inputs[0] == kNoIndex)
      return std::nullopt;
    if (!is_own_inverse(*outer.command)) return std::nullopt;
    const std::uint32_t between = equal_.end(outer.inputs[0]);
    if (symbol(between).producer == kNoIndex) return std::nullopt;
    const NodeInfo& inner = graph_.nodes()[symbol(between).producer];
    if (inner.kind != NodeKind::command || *inner.command != *outer.command) return std::nullopt;
    const std::uint32_t x = equal_.end(inner.inputs[0]);
    const SymbolInfo& y = symbol(outer.outputs[0]);
    const bool is_same = y.has_form && symbol(x).has_form && symbol(x).form == y.form;
    if (y.kind != SymbolOrigin::tensor || !is_same) return std::nullopt;
    return x;
  }

  SymbolicGraph& graph_;
  Substitution equal_;
  Column<bool> involutions_;
  enum class Answer : std::uint8_t { open, no, yes };
  std::vector<Answer> by_op_;     ///< may_cancel() of commands
  std::vector<bool> is_ordered_;  ///< by node: order() names it
};

}  // namespace

std::string cancel(SymbolicGraph& graph, const PassOptions& /*options*/) {
  return Canceller(graph).cancel();
}

}  // namespace mote
