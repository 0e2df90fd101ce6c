// SPDX-License-Identifier: Apache-2.0
#include "schedule/scatter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "ir/dependence.h"
#include "mote/codegen/in_place.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/walk.h"
#include "passes/conditions.h"
#include "schedule/paths.h"

namespace mote {
namespace {

/// A loop over elements, and the loop over the taps of the windows that hold one.
struct WindowAxis {
  const Loop* elements;
  const Loop* taps;
  Expr window;    ///< the number of the window, (h + p - k·d)/s
  Expr stride;    ///< s
  Expr offset;    ///< p - k·d
  Symbol number;  ///< a loop variable in place of `window`
  Expr count;     ///< of the windows: the extent of the axes that are read at `window`
};

/// A sum over windows: its terms, the taps that it runs over and when there is a term.
struct WindowSum {
  const Accumulator* accumulator = nullptr;
  const Fold* fold = nullptr;
  std::vector<const Loop*> taps;  ///< outermost first
  Conditions conditions;
};

/// Returns the parts of the sum whose loops, branches and fold alone the statement is.
std::optional<WindowSum> window_sum(const Loop& outermost) {
  if (outermost.accumulators.size() != 1) return std::nullopt;
  WindowSum sum{&outermost.accumulators.front(), nullptr, {&outermost}, {}};
  const Body* body = &outermost.body;
  while (body->size() == 1) {
    const Stmt& s = body->front();
    if (const auto* fold = std::get_if<Fold>(&s.kind)) {
      sum.fold = fold;
      const bool is_sum = fold->accumulator == sum.accumulator->name && fold->op == ReduceOp::sum &&
                          is_real(sum.accumulator->dtype);
      return is_sum ? std::optional(sum) : std::nullopt;
    }
    if (const Loop* loop = as_loop(s)) {
      if (!loop->accumulators.empty()) return std::nullopt;
      sum.taps.push_back(loop);
    } else if (const auto* branch = std::get_if<If>(&s.kind)) {
      sum.conditions.insert(sum.conditions.end(), branch->conditions.begin(),
                            branch->conditions.end());
    }
    body = nested_body(s);
    if (body == nullptr) return std::nullopt;
  }
  return std::nullopt;
}

/// Returns the extent of an axis that is read at the index, whatever conditions stand in the value.
std::optional<Expr> extent_read_at(const LoopProgram& p, const Value& v, const Expr& index) {
  if (const auto* load = std::get_if<value::Load>(&v->kind)) {
    const auto axis = std::ranges::find(load->index, index);
    if (axis == load->index.end()) return std::nullopt;
    const TensorDecl* t = find_tensor(p, load->tensor);
    return t == nullptr ? std::nullopt : std::optional(t->shape[axis - load->index.begin()]);
  }
  if (const auto* op = std::get_if<value::Op>(&v->kind))
    for (const Value& a : op->args)
      if (auto extent = extent_read_at(p, a, index)) return extent;
  return std::nullopt;
}

class Scatter {
 public:
  explicit Scatter(LoopProgram& p) : p_(p) {}

  /// Changes the loops of the body, around which the facts hold.
  void run(Body& body, const Facts& facts) {
    for (std::size_t k = 0; k < body.size(); ++k) {
      Loop* loop = as_loop(body[k]);
      if (loop == nullptr) {
        if (auto* branch = std::get_if<If>(&body[k].kind))
          run(branch->body, assuming(facts, branch->conditions));
        continue;
      }
      Facts inside = facts;
      set_ranges(*loop, inside);
      run(loop->body, inside);
      auto parts = by_windows(*loop, facts);
      if (!parts) continue;
      const auto here = body.begin() + static_cast<std::ptrdiff_t>(k);
      body.insert(body.erase(here), parts->begin(), parts->end());
      k += parts->size() - 1;
    }
  }

  std::vector<std::string> effects;

 private:
  /// Returns the loops that set the elements of the nest to 0, and those that add to them, before
  /// which may stand loops that compute what each window adds.
  std::optional<Body> by_windows(const Loop& outermost, const Facts& facts) {
    const std::vector<const Loop*> chain = perfect_chain(outermost);
    const Body& innermost = chain.back()->body;
    if (innermost.size() != 2) return std::nullopt;
    const Loop* reduction = as_loop(innermost[0]);
    const auto* store = std::get_if<Store>(&innermost[1].kind);
    const auto sum = reduction == nullptr ? std::nullopt : window_sum(*reduction);
    if (!sum || store == nullptr || !keeps_sums(*store, *sum) || has_limits_of_data(*sum))
      return std::nullopt;
    const auto axes = axes_of(chain, *sum);
    if (!axes) return std::nullopt;
    Body parts;
    parts.push_back(zeros(chain, *store));
    if (!additions(*axes, *sum, *store, facts, parts)) return std::nullopt;
    std::vector<std::string> names;
    for (const WindowAxis& axis : *axes) names.push_back(axis.number.name());
    effects.push_back(
        fmt::format("the windows {} add to {}", fmt::join(names, ", "), store->tensor));
    return parts;
  }

  /// Returns true if the tensor can have the sum as it grows, which it then keeps as precisely.
  bool keeps_sums(const Store& store, const WindowSum& sum) const {
    const auto* value = std::get_if<value::Accumulated>(&store.value->kind);
    const DType dtype = find_tensor(p_, store.tensor)->dtype;
    const bool is_read = std::ranges::any_of(
        accesses(Stmt{*sum.fold}), [&](const Access& a) { return a.tensor == store.tensor; });
    return value != nullptr && value->name == sum.accumulator->name &&
           dtype == sum.accumulator->dtype && (dtype == DType::f32 || dtype == DType::f64) &&
           find_tensor(p_, store.tensor)->role == TensorRole::output && !is_read;
  }

  static bool has_limits_of_data(const WindowSum& sum) {
    return std::ranges::any_of(sum.conditions, has_load) ||
           std::ranges::any_of(sum.taps, [](const Loop* l) {
             return l->begin.has_load() || l->end.has_load() || l->step != Expr(1) ||
                    !l->digits.empty();
           });
  }

  /// Returns an axis for each loop of the chain and each loop over taps.
  std::optional<std::vector<WindowAxis>> axes_of(const std::vector<const Loop*>& chain,
                                                 const WindowSum& sum) {
    std::vector<WindowAxis> axes;
    std::set<std::string> used;
    for (const Loop* taps : sum.taps)
      for (const Loop* elements : chain) {
        auto axis = axis_of(*elements, *taps, sum);
        if (!axis) continue;
        const std::string name = elements->variable.name() + "_window";
        axis->number = Symbol(SymbolKind::loop, fresh_name(p_, name));
        axes.push_back(std::move(*axis));
      }
    if (axes.size() != chain.size() || axes.size() != sum.taps.size()) return std::nullopt;
    for (std::size_t k = 0; k < axes.size(); ++k)
      if (axes[k].taps != sum.taps[k] || axes[k].elements != chain[k]) return std::nullopt;
    return axes;
  }

  std::optional<WindowAxis> axis_of(const Loop& elements, const Loop& taps,
                                    const WindowSum& sum) const {
    if (elements.step != Expr(1) || !elements.digits.empty()) return std::nullopt;
    for (const Condition& c : sum.conditions) {
      const Atom* remainder = c.kind == Condition::Kind::zero ? c.e.as_atom() : nullptr;
      if (remainder == nullptr || remainder->kind != Atom::Kind::mod) continue;
      const Expr& position = remainder->args[0];
      const Expr& stride = remainder->args[1];
      const auto linear = linear_in(position, elements.variable);
      if (!linear || linear->factor != Expr(1) || !is_fixed(stride) ||
          !position.mentions(taps.variable) ||
          !is_fixed(linear->rest.substitute({{taps.variable, Expr(0)}})))
        continue;
      const Expr window = position / stride;
      const auto count = extent_read_at(p_, sum.fold->value, window);
      if (count && is_fixed(*count))
        return WindowAxis{&elements,         &taps, window, stride, linear->rest,
                          elements.variable, *count};
    }
    return std::nullopt;
  }

  static Stmt zeros(const std::vector<const Loop*>& chain, const Store& store) {
    Stmt s{Store{store.tensor, store.index, constant(0.0, store.value->dtype)}};
    for (auto l = chain.rbegin(); l != chain.rend(); ++l) s = around(**l, {std::move(s)});
    return s;
  }

  static Stmt around(const Loop& like, Body body) {
    return {Loop{like.variable, like.begin, like.end, 1, {}, std::move(body)}};
  }

  /// Appends the loops over taps and windows that add the terms; false if the limits of taps change
  /// with the element in another way than by a condition.
  bool additions(const std::vector<WindowAxis>& axes, const WindowSum& sum, const Store& store,
                 Facts facts, Body& parts) {
    std::map<Symbol, Expr> element;
    for (const WindowAxis& a : axes)
      element.emplace(a.elements->variable, a.stride * Expr(a.number) - a.offset);
    Facts of_windows = facts;  // there may be no taps
    Conditions conditions = sum.conditions;
    std::vector<Loop> loops, windows;
    for (const WindowAxis& a : axes) {
      const auto taps = tap_loop(axes, *a.taps, conditions);
      if (!taps) return false;
      windows.push_back({a.number, 0, a.count, 1, {}, {}});
      loops.push_back(*taps);
      loops.push_back(windows.back());
      for (const Condition& c : in_limits(*a.elements)) conditions.push_back(c);
    }
    for (const Loop& l : windows) set_ranges(l, of_windows);
    for (const Loop& l : loops) set_ranges(l, facts);
    for (Condition& c : conditions) c.e = c.e.substitute(element);
    auto left = clean(conditions, facts);
    if (!left) return false;
    Value value = rewrite_exprs(
        sum.fold->value, [&](const Expr& e) { return of_windows.simplify(e.substitute(element)); });
    if (is_worth_keeping(value, axes, of_windows))
      value = kept(value, windows, parts);
    else
      value = rewrite_exprs(value, [&](const Expr& e) { return facts.simplify(e); });
    std::vector<Expr> index;
    for (const Expr& e : store.index) index.push_back(facts.simplify(e.substitute(element)));
    parts.push_back(
        nested(std::move(loops), *std::move(left),
               {StoreReduce{store.tensor, std::move(index), ScatterOp::add, std::move(value)}}));
    return true;
  }

  /// Returns true if the value is computed from elements, all of which exist in each window, and is
  /// the same for all taps.
  bool is_worth_keeping(const Value& value, const std::vector<WindowAxis>& axes,
                        const Facts& facts) const {
    if (std::holds_alternative<value::Load>(value->kind)) return false;
    bool all = std::ranges::none_of(
        axes, [&](const WindowAxis& a) { return mentions(value, a.taps->variable); });
    for_each_value(value, [&](const Value& v) {
      const auto* load = std::get_if<value::Load>(&v->kind);
      all = all && !std::holds_alternative<value::Guard>(v->kind) &&
            (load == nullptr || is_in_range(p_, *load, facts));
    });
    return all;
  }

  /// Appends loops that keep the value of each window, and returns what reads it.
  Value kept(const Value& value, std::vector<Loop> windows, Body& parts) {
    TensorDecl t{fresh_name(p_, "of_window"), TensorRole::temporary, value->dtype, {}, {}};
    std::map<Symbol, Expr> first;
    std::vector<Expr> index, read_at;
    for (Loop& w : windows) {
      read_at.emplace_back(w.variable);
      const Symbol before(SymbolKind::loop, fresh_name(p_, w.variable.name() + "_first"));
      first.emplace(std::exchange(w.variable, before), Expr(before));
      index.emplace_back(before);
      t.shape.push_back(w.end);
      t.axis_names.push_back(before.name());
    }
    parts.push_back(
        nested(std::move(windows), {}, {Store{t.name, index, mote::substitute(value, first)}}));
    p_.tensors.push_back(t);
    return load_value(t.name, std::move(read_at), value->dtype);
  }

  static Conditions in_limits(const Loop& l) {
    return {{Condition::Kind::nonneg, Expr(l.variable) - l.begin},
            {Condition::Kind::nonneg, l.end - 1 - Expr(l.variable)}};
  }

  /// Returns the loop over taps with the limits that no element changes; the others become
  /// conditions.
  static std::optional<Loop> tap_loop(const std::vector<WindowAxis>& axes, const Loop& taps,
                                      Conditions& conditions) {
    const auto changes = [&](const Expr& e) {
      return std::ranges::any_of(
          axes, [&](const WindowAxis& a) { return e.mentions(a.elements->variable); });
    };
    std::optional<Expr> begin, end;
    for (const Expr& e : arms(taps.begin, Atom::Kind::max)) {
      if (changes(e))
        conditions.push_back({Condition::Kind::nonneg, Expr(taps.variable) - e});
      else
        begin = begin ? max(*begin, e) : e;
    }
    for (const Expr& e : arms(taps.end, Atom::Kind::min)) {
      if (changes(e))
        conditions.push_back({Condition::Kind::nonneg, e - 1 - Expr(taps.variable)});
      else
        end = end ? min(*end, e) : e;
    }
    if (!begin || !end) return std::nullopt;
    return Loop{taps.variable, *begin, *end, 1, {}, {}};
  }

  /// Returns the statement in the loops, with each condition directly inside the last loop that it
  /// depends on.
  static Stmt nested(std::vector<Loop> loops, Conditions conditions, Stmt s) {
    for (auto l = loops.rbegin(); l != loops.rend(); ++l) {
      Conditions here;
      std::erase_if(conditions, [&](const Condition& c) {
        const bool is_here = c.e.mentions(l->variable) || has_load(c);
        if (is_here) here.push_back(c);
        return is_here;
      });
      if (!here.empty()) s = {If{std::move(here), {std::move(s)}}};
      l->body = {std::move(s)};
      s = {std::move(*l)};
    }
    if (!conditions.empty()) s = {If{std::move(conditions), {std::move(s)}}};
    return s;
  }

  LoopProgram& p_;
};

}  // namespace

std::vector<std::string> scatter_windows(LoopProgram& p) {
  LoopProgram now = p;
  Scatter scatter(now);
  scatter.run(now.body, base_facts(*p.source));
  if (scatter.effects.empty()) return {};
  for (const InPlacePair& pair : pairs_in_place(p))
    if (why_not_in_place(now, {&pair, 1})) return {};
  p = tighten(std::move(now));
  return std::move(scatter.effects);
}

}  // namespace mote
