// SPDX-License-Identifier: Apache-2.0
#include "schedule/innermost.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/dependence.h"
#include "ir/references.h"
#include "mote/codegen/in_place.h"
#include "mote/codegen/walk.h"
#include "schedule/iterations.h"
#include "schedule/tile.h"
#include "schedule/tiles/nest.h"
#include "schedule/unit_strides.h"

namespace mote {
namespace {

bool mentions_any(const Expr& e, const std::set<Symbol>& variables) {
  return std::ranges::any_of(variables, [&](Symbol v) { return e.mentions(v); });
}

/// Tries one loop of the nest.
class Taker {
 public:
  Taker(LoopProgram& p, const SharedLoops& chain, const Loop& loop)
      : p_(p), chain_(chain), v_(loop.variable), loop_(loop) {
    const Body& body = chain.loops.back()->body;
    for (const Access& a : accesses(body))
      for (const Expr& e : a.index)
        if (const auto linear = linear_in(e, v_))
          if (const auto size = linear->factor.as_symbol();
              size && size->kind() == SymbolKind::size)
            ones_.emplace(*size, 1);
    const auto runs_once = [&](const Loop& l) {
      return l.begin == Expr(0) && l.end.substitute(ones_) == Expr(1);
    };
    for_each(body, [&](const Stmt& s) {
      const Loop* l = as_loop(s);
      if (l == nullptr) return;
      if (runs_once(*l))
        zeros_.emplace(l->variable, 0);
      else
        inner_.insert(l->variable);
    });
    for (const Loop* l : chain.loops)
      if (l->variable != v_ && runs_once(*l)) zeros_.emplace(l->variable, 0);
  }

  std::variant<Innermost, std::string> run(TileOfIterations tile) {
    const Body& original = chain_.loops.back()->body;
    if (!slides_no_window(original)) return "an access slides a window along it";
    if (!adjacent_) return "no output changes along it";
    try {
      Body body = original;
      substitute(body, ones_);
      substitute(body, zeros_);
      Innermost taken{{}, *adjacent_, {}, {}};
      for (const auto& [size, one] : ones_)
        taken.demands.push_back({Condition::Kind::zero, Expr(size) - 1});
      add_demands(taken.demands, {{Condition::Kind::nonneg, loop_.end - loop_.begin - tile.least}});
      copy_ahead(body, taken.body);
      std::set<std::string> used = used_;
      const Symbol start = Tiler::fresh_variable(p_, v_.name() + "_tile", used);
      const Expr first = tile.is_whole ? min(Expr(start), loop_.end - tile.most) : Expr(start);
      Tiler tiler(p_, body, {{v_, loop_.begin, loop_.end, tile.most, start, first, tile.is_whole}},
                  chain_.own, used_);
      std::vector<LoopRange> outer;
      for (const Loop* l : chain_.loops)
        if (l->variable != v_ && !zeros_.contains(l->variable))
          outer.push_back({l->variable, l->begin, l->end});
      Body inner;
      inner.push_back({Loop{start, loop_.begin, loop_.end, tile.most, {}, tiler.distributed()}});
      inner = in_loops(outer, std::move(inner));
      std::ranges::move(inner, std::back_inserter(taken.body));
      const StepKind kind = tile.is_whole ? StepKind::registers : StepKind::innermost;
      taken.step = {{kind, {{v_.name(), tile.most}}}, tiler.arrays()};
      if (!copies_.empty())
        taken.step.effect += fmt::format("; copies {} ahead", fmt::join(copies_, ", "));
      return taken;
    } catch (const CannotTile& e) {
      return e.why;
    }
  }

 private:
  /// Returns true if every access that changes with the loop does so on one axis, element by
  /// element if the sizes that multiply it are 1, and apart from the variables of reductions.
  bool slides_no_window(const Body& body) {
    bool all = true;
    for (const Access& a : accesses(body)) {
      int moving = 0;
      for (std::size_t axis = 0; axis < a.index.size(); ++axis) {
        const Expr e = a.index[axis].substitute(ones_);
        if (!e.mentions(v_)) continue;
        const auto linear = linear_in(e, v_);
        ++moving;
        all = all && linear && linear->factor == Expr(1) && !mentions_any(linear->rest, inner_);
        const TensorDecl* t = find_tensor(p_, a.tensor);
        if (a.write && t->role == TensorRole::output && !adjacent_)
          adjacent_ = KnownStride{a.tensor, static_cast<int>(axis), 1};
      }
      all = all && moving <= 1;
    }
    return all;
  }

  /// Copies the tensors that change with the loop and with reductions, but not with all other
  /// loops, to temporaries in which elements along the loop are adjacent.
  void copy_ahead(Body& body, Body& out) {
    std::vector<LoopRange> ranges;
    for (const Stmt& s : body)
      if (const Loop* l = as_loop(s))
        if (const auto nest = reduction_nest(*l, facts_in(p_, chain_)))
          ranges.insert(ranges.end(), nest->loops.begin(), nest->loops.end());
    for (const Loop* l : chain_.loops)
      if (l->variable != v_) ranges.push_back({l->variable, l->begin, l->end});
    std::vector<std::pair<Value, Value>> copies;  // loads, and the loads that replace them
    rewrite_values(body, [&](const Value& value) {
      const auto* load = std::get_if<value::Load>(&value->kind);
      if (load == nullptr || !is_shared(*load)) return value;
      for (const auto& [original, copy] : copies)
        if (equal(original, value)) return copy;
      return copies.emplace_back(value, copied(value, ranges, out)).second;
    });
  }

  /// Returns true for an input that changes with the loop and with reductions, while several
  /// iterations of the other loops read the same of it.
  bool is_shared(const value::Load& load) const {
    const auto depends = [&](Symbol v) {
      return std::ranges::any_of(load.index, [&](const Expr& e) { return e.mentions(v); });
    };
    const auto repeats = [&](const Loop* l) {
      return !depends(l->variable) && (l->end - l->begin).substitute(ones_) != Expr(1);
    };
    const bool is_input = find_tensor(p_, load.tensor)->role == TensorRole::input;
    return is_input && load.index.size() > 1 && depends(v_) &&
           std::ranges::any_of(inner_, depends) && std::ranges::any_of(chain_.loops, repeats);
  }

  Value copied(const Value& value, const std::vector<LoopRange>& ranges, Body& out) {
    const auto& load = std::get<value::Load>(value->kind);
    std::vector<Expr> shape, index, read;
    std::map<Symbol, Expr> element;
    std::vector<LoopRange> loops;
    Facts known = facts_in(p_, chain_);
    const auto add = [&](const LoopRange& r) {
      const Symbol own = Tiler::fresh_variable(p_, r.variable.name(), used_);
      const LoopRange here{own, r.begin.substitute(ones_), r.end.substitute(ones_)};
      known.set_range(own, here.begin, here.end);
      loops.push_back(here);
      shape.push_back(here.end - here.begin);
      index.push_back(Expr(own) - here.begin);
      read.push_back(Expr(r.variable) - here.begin);
      element.emplace(r.variable, Expr(own));
    };
    for (const LoopRange& r : ranges)
      if (std::ranges::any_of(load.index, [&](const Expr& e) { return e.mentions(r.variable); }))
        add(r);
    add({v_, loop_.begin, loop_.end});
    value::Load from{load.tensor, {}};
    for (const Expr& e : load.index) from.index.push_back(e.substitute(element));
    const bool is_fixed =
        std::ranges::none_of(from.index, [&](const Expr& e) { return mentions_any(e, inner_); });
    if (!is_fixed || !is_in_range(p_, from, known, ones_))
      throw CannotTile{fmt::format("{} is not copied ahead", load.tensor)};
    const std::string name = Tiler::fresh_variable(p_, load.tensor + "_copy", used_).name();
    p_.tensors.push_back(
        {name, TensorRole::temporary, value->dtype, shape, std::vector<std::string>(shape.size())});
    Body fill;
    fill.push_back({Store{name, index, load_value(from.tensor, from.index, value->dtype)}});
    fill = in_loops(loops, std::move(fill));
    std::ranges::move(fill, std::back_inserter(out));
    copies_.push_back(fmt::format("{} to {}", load.tensor, name));
    return load_value(name, read, value->dtype);
  }

  LoopProgram& p_;
  const SharedLoops& chain_;
  const Symbol v_;
  const Loop& loop_;
  std::set<Symbol> inner_;        ///< variables of loops in the nest's innermost body
  std::map<Symbol, Expr> ones_;   ///< sizes that must be 1
  std::map<Symbol, Expr> zeros_;  ///< variables of loops of one iteration then
  std::optional<KnownStride> adjacent_;
  std::set<std::string> used_;
  std::vector<std::string> copies_;
};

}  // namespace

std::variant<Innermost, std::string> taken_innermost(LoopProgram& p, const SharedLoops& chain,
                                                     const Loop& loop, TileOfIterations tile) {
  if (&loop == chain.loops.back() || !holds_loop(chain.loops.back()->body))
    return "it holds no loop of its nest, with independent iterations, that holds others";
  const std::vector<TensorDecl> before = p.tensors;
  auto taken = Taker(p, chain, loop).run(tile);
  if (std::holds_alternative<std::string>(taken)) p.tensors = before;
  return taken;
}

Refusal put_innermost(LoopProgram& p, const Path& nest, Innermost& taken) {
  if (!are_compatible(p.strides, {taken.adjacent}))
    return "the version relies on adjacent elements along another axis";
  const Body before = p.body;
  const bool reads_again = taken.step.step.kind == StepKind::registers;
  const std::vector<InPlacePair> in_place =
      reads_again ? pairs_in_place(p) : std::vector<InPlacePair>();
  replace(p, nest, std::move(taken.body));
  if (std::ranges::any_of(in_place, [&](const InPlacePair& pair) {
        return why_not_in_place(p, std::span(&pair, 1)).has_value();
      })) {
    p.body = before;
    return "a call in place would read what it has overwritten";
  }
  add_missing(p.strides, {taken.adjacent});
  add_missing(p.demands, taken.demands);
  return std::nullopt;
}

}  // namespace mote
