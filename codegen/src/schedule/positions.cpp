// SPDX-License-Identifier: Apache-2.0
#include "schedule/positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "ir/dependence.h"
#include "mote/codegen/walk.h"
#include "passes/conditions.h"
#include "schedule/sign.h"

namespace mote {
namespace {

constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::max();

bool is_position(ReduceOp op) { return op == ReduceOp::argmax || op == ReduceOp::argmin; }

/// Returns true if evaluating the value twice costs little and gives the same twice. A temporary of
/// integers may hold values that are beyond its dtype, and so beyond where maxima and minima start.
bool may_be_read_twice(const LoopProgram& p, const Value& v) {
  bool plain = true;
  for_each_value(v, [&](const Value& node) {
    const auto* guard = std::get_if<value::Guard>(&node->kind);
    const auto* load = std::get_if<value::Load>(&node->kind);
    const bool is_kept =
        load != nullptr &&
        (is_real(v->dtype) || find_tensor(p, load->tensor)->role == TensorRole::input);
    plain = plain &&
            (is_kept || (guard != nullptr && std::ranges::none_of(guard->conditions, has_load)));
  });
  return plain;
}

/// A loop's iterations in the order in which the value reads elements: iteration n reads at flip ·
/// (N - 1) + (1 - 2·flip)·n, and so does n stand to that position.
struct Turned {
  Value value;    ///< with the position in place of n
  Expr position;  ///< n, for the position
};

class PositionFinder {
 public:
  explicit PositionFinder(LoopProgram& p) : p_(p), facts_(with_upper_bounds(*p.source)) {}

  /// Branches stay as they are: an accumulator is read behind one that is not taken, too.
  void run(Body& body) {
    for (std::size_t k = 0; k < body.size(); ++k) {
      Loop* loop = as_loop(body[k]);
      if (loop == nullptr) continue;
      run(loop->body);
      auto parts = by_two_reductions(*loop);
      if (!parts) continue;
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(k));
      body.insert(body.begin() + static_cast<std::ptrdiff_t>(k), parts->begin(), parts->end());
      ++k;
    }
  }

  std::vector<std::string> steps;
  std::map<std::string, Conditions> found;  ///< the accumulators, and when there is a position

 private:
  std::optional<Body> by_two_reductions(const Loop& loop) {
    const bool is_one = loop.body.size() == 1 && loop.accumulators.size() == 1 &&
                        is_position(loop.accumulators.front().op) && loop.step == Expr(1);
    const auto* fold = is_one ? std::get_if<Fold>(&loop.body.front().kind) : nullptr;
    if (fold == nullptr || !may_be_read_twice(p_, fold->value) || fold->position.has_load() ||
        loop.begin.has_load() || loop.end.has_load())
      return std::nullopt;
    const auto turned = in_order_of_elements(*fold, loop);
    const auto position = linear_in(turned.position, loop.variable);
    if (!position || fold->position != Expr(loop.variable)) return std::nullopt;
    const Accumulator& of = loop.accumulators.front();
    const ReduceOp order = of.op == ReduceOp::argmax ? ReduceOp::max : ReduceOp::min;
    const std::string best = fresh_name(p_, of.name + "_value");
    const Symbol again(SymbolKind::loop, fresh_name(p_, loop.variable.name() + "_again"));
    Loop values{loop.variable, loop.begin, loop.end, 1, {{best, order, of.dtype}}, {}};
    values.body.push_back({Fold{best, order, turned.value, 0}});
    const Value equal_best = equals(turned.value, accumulated_value(best, of.dtype));
    const Value where = op_value(
        MapOp::where, {equal_best, index_value(turned.position), constant(kNowhere, DType::i64)},
        DType::i64, DType::i64);
    Loop positions{again, loop.begin, loop.end, 1, {{of.name, ReduceOp::min, DType::i64}}, {}};
    positions.body.push_back({Fold{of.name, ReduceOp::min, where, 0}});
    substitute(positions.body, {{loop.variable, Expr(again)}});
    found[of.name] = {{Condition::Kind::nonneg, loop.end - loop.begin - 1}};
    steps.push_back(fmt::format("find the {} of {} first, then its position {}", name(order),
                                to_string(turned.value), of.name));
    Body parts;
    parts.push_back({std::move(values)});
    parts.push_back({std::move(positions)});
    return parts;
  }

  /// Returns the fold's value with the element's position in place of the loop's variable, if the
  /// loop runs forwards or backwards as a parameter says; otherwise the value as it is.
  Turned in_order_of_elements(const Fold& fold, const Loop& loop) const {
    const Turned as_it_is{fold.value, Expr(loop.variable)};
    std::optional<Linear> along;
    for_each_value(fold.value, [&](const Value& v) {
      const auto* load = std::get_if<value::Load>(&v->kind);
      if (load == nullptr) return;
      for (const Expr& e : load->index)
        if (!along && e.mentions(loop.variable)) along = linear_in(e, loop.variable);
    });
    if (!along || along->factor == Expr(1) || loop.begin != Expr(0)) return as_it_is;
    const auto flip = flip_of(along->factor, facts_);
    if (!flip || along->rest != *flip * (loop.end - 1)) return as_it_is;
    const Expr n(loop.variable);
    bool all = true;
    Value turned = rewrite_exprs(fold.value, [&](const Expr& e) -> Expr {
      if (!e.mentions(loop.variable)) return e;
      const auto linear = linear_in(e, loop.variable);
      if (linear && linear->factor == along->factor) return n + linear->rest - along->rest;
      if (linear && linear->factor == -along->factor) return linear->rest + along->rest - n;
      all = false;
      return e;
    });
    if (!all) return as_it_is;
    Facts inside = facts_;
    inside.set_range(loop.variable, loop.begin, loop.end);
    if (const auto* guard = std::get_if<value::Guard>(&turned->kind))
      turned = guarded(guard->conditions, guard->then, guard->otherwise, inside);
    return {turned, along->rest + along->factor * n};
  }

  /// Returns x == best, where NaN equals NaN.
  static Value equals(const Value& x, const Value& best) {
    const auto of = [&](MapOp op, std::vector<Value> args, DType dtype) {
      return op_value(op, std::move(args), dtype, DType::boolean);
    };
    const Value same = of(MapOp::eq, {x, best}, x->dtype);
    if (!is_real(x->dtype)) return same;
    const Value both_nan =
        of(MapOp::logical_and,
           {of(MapOp::isnan, {x}, x->dtype), of(MapOp::isnan, {best}, x->dtype)}, DType::boolean);
    return of(MapOp::logical_or, {same, both_nan}, DType::boolean);
  }

  LoopProgram& p_;
  const Facts facts_;
};

}  // namespace

std::vector<std::string> find_positions(LoopProgram& p) {
  PositionFinder finder(p);
  finder.run(p.body);
  rewrite_values(p.body, [&](const Value& v) {
    const auto* read = std::get_if<value::Accumulated>(&v->kind);
    const auto at = read == nullptr ? finder.found.end() : finder.found.find(read->name);
    return at == finder.found.end() ? v : guard_value(at->second, v, Number(std::int64_t{-1}));
  });
  return std::move(finder.steps);
}

}  // namespace mote
