// SPDX-License-Identifier: Apache-2.0
// Alternatives with elements from other locations, and changes of all index expressions.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "diagnosis/collector.h"

namespace mote::diagnosis {
namespace {

void add_moved(Collector& all, const Uop& u) {
  const auto* r = std::get_if<uop::Reindex>(&u.node().kind);
  if (r == nullptr) return;
  const auto add = [&](const std::vector<Expr>& from) {
    all.add([&] { return reindex(r->x, shape_of(u), {from.begin(), from.end()}, r->fill); });
  };
  for (std::size_t k = 0; k < r->from.size(); ++k) {
    std::vector<Expr> from = r->from;
    for (const int step : {1, -1}) {
      from[k] = r->from[k] + Expr(step);
      add(from);
    }
    for (int a = 0; a < u.rank(); ++a)
      for (int b = 0; b < u.rank(); ++b) {
        const Symbol axis = *Expr::loop(a).as_symbol();
        if (a == b || !r->from[k].mentions(axis)) continue;
        from[k] = r->from[k].substitute({{axis, Expr::loop(b)}});
        add(from);
      }
  }
}

/// The read with the elements of the next row if the index runs beyond the end of a row that is in
/// range.
Uop with_next_rows(const Uop& u, const uop::Reindex& r, std::size_t axis) {
  const std::vector<Expr>& extents = r.x.shape();
  const Expr rows = max(Expr(0), r.from[axis + 1]) / extents[axis + 1];
  std::vector<Expr> from = r.from;
  from[axis + 1] = from[axis + 1] - rows * extents[axis + 1];
  from[axis] = from[axis] + rows;
  const Uop row = iota(r.from[axis], shape_of(u));
  const Uop end = iota(extents[axis], shape_of(u));
  const Uop next = reindex(r.x, shape_of(u), {from.begin(), from.end()}, r.fill);
  return where(row >= 0 && row < end, next, u);
}

void add_next_rows(Collector& all, const Uop& u) {
  if (const auto* r = std::get_if<uop::Reindex>(&u.node().kind))
    for (std::size_t k = 0; k + 1 < r->from.size(); ++k)
      all.add([&] { return with_next_rows(u, *r, k); });
  const uop::Map* guarded = map_of(u);
  if (guarded == nullptr || guarded->op != MapOp::where) return;
  const std::vector<Uop> args = operands(guarded->args[1]);  // the value under the condition
  for (std::size_t n = 0; n < args.size(); ++n)
    if (const auto* r = std::get_if<uop::Reindex>(&args[n].node().kind))
      for (std::size_t k = 0; k + 1 < r->from.size(); ++k)
        all.add([&] {
          std::vector<Uop> changed = args;
          changed[n] = with_next_rows(args[n], *r, k);
          return with_operands(guarded->args[1], changed);
        });
}

/// The index without counting negative ones from the end.
Uop uncounted(const Uop& index) {
  if (const auto* r = std::get_if<uop::Reindex>(&index.node().kind))
    return with_operands(index, {uncounted(r->x)});
  const uop::Map* m = map_of(index);
  const uop::Map* condition = m != nullptr && m->op == MapOp::where ? map_of(m->args[0]) : nullptr;
  const bool counts = condition != nullptr && condition->op == MapOp::lt &&
                      condition->args[0].id() == m->args[2].id();
  return counts ? m->args[2] : index;
}

/// Adds an unchecked index, which reads memory in the row before or after.
void add_unchecked_index(Collector& all, const Uop& u) {
  const auto* s = std::get_if<uop::Select>(&u.node().kind);
  if (s == nullptr || s->axis == 0) return;
  const auto axis = static_cast<std::size_t>(s->axis);
  for (const bool counted : {false, true})
    all.add(
        [&] {
          Shape shape = shape_of(s->x);
          const Expr rows = shape[axis - 1].extent, extent = shape[axis].extent;
          std::vector<IndexText> from;
          for (int a = 0; a < s->x.rank(); ++a) from.emplace_back(Expr::loop(a));
          const Expr flat = Expr::loop(s->axis);
          from[axis - 1] = flat / extent;
          from[axis] = flat % extent;
          shape[axis] = Axis(rows * extent, "flat");
          const Uop memory = reindex(s->x, shape, from, s->fill);
          const Uop index = counted ? s->index : uncounted(s->index);
          const Uop row = iota(Expr::loop(s->axis - 1) * extent, shape_of(index));
          return select(memory, s->axis, index + row, s->fill);
        },
        "index unchecked", "with an index out of range reading the row before or after");
}

/// The expression with letters for the axes and parameters by their names.
std::string said_as(const Expr& e) {
  constexpr const char* kLetters[] = {"i", "j", "k", "l", "m", "n", "p", "q"};
  std::map<Symbol, Expr> names;
  for (int axis = 0; axis < static_cast<int>(std::size(kLetters)); ++axis)
    names.emplace(*Expr::loop(axis).as_symbol(), Expr::size(kLetters[axis]));
  std::string text = e.substitute(names).to_string();
  std::erase(text, '$');
  return text;
}

void for_each_division(const Expr& e, const std::function<void(const Expr&)>& f) {
  (void)e.transform([&](const Atom& atom) {
    const Expr same = rebuild(atom);
    if (atom.kind == Atom::Kind::div) f(same);
    return same;
  });
}

Expr rounded_up(const Expr& a, const Expr& b) { return -((-a) / b); }
Expr rounded_towards_0(const Expr& a, const Expr& b) {
  return max(Expr(0), a) / b - max(Expr(0), -a) / b;
}

using Division = Expr (*)(const Expr& a, const Expr& b);

/// Replaces all divisions of e, or only that one.
Expr with_rounding(const Expr& e, Division rounding, const std::optional<Expr>& only) {
  return e.transform([&](const Atom& of) {
    const Expr same = rebuild(of);
    const bool is_meant = of.kind == Atom::Kind::div && (!only || same == *only);
    return is_meant ? rounding(of.args[0], of.args[1]) : same;
  });
}

bool moves(const Expr& e) {
  return std::ranges::any_of(e.symbols(), [](Symbol s) { return s.kind() == SymbolKind::loop; });
}

/// Keeps, in each sum, the terms that depend on a loop variable; other sums stay.
Expr without_offsets(const Expr& e) {
  const auto without = [](const Expr& sum) {
    if (!moves(sum)) return sum;
    Expr kept;
    for (const Term& t : sum.terms()) {
      Expr product(t.coefficient);
      for (const Atom& atom : t.atoms) product = product * Expr::from_atom(atom);
      if (moves(product)) kept = kept + product;
    }
    return kept;
  };
  return without(e.transform([&](const Atom& of) {
    Atom changed = of;
    for (Expr& arg : changed.args) arg = without(arg);
    return rebuild(changed);
  }));
}

template <typename F>
void for_each_index(const Uop& u, const F& f) {
  if (const auto* i = std::get_if<uop::Iota>(&u.node().kind)) f(i->value);
  if (const auto* r = std::get_if<uop::Reindex>(&u.node().kind))
    for (const Expr& e : r->from) f(e);
}

}  // namespace

void add_other_locations(Collector& all, const Uop& u) {
  add_moved(all, u);
  add_next_rows(all, u);
  add_unchecked_index(all, u);
}

std::vector<IndexChange> index_changes(const std::vector<Uop>& nodes) {
  std::map<std::string, Expr> divisions;
  for (const Uop& u : nodes)
    for_each_index(u, [&](const Expr& e) {
      for_each_division(e, [&](const Expr& d) { divisions.emplace(d.to_string(), d); });
    });
  std::vector<IndexChange> all = {{"indices without offsets", without_offsets}};
  for (const Division rounding : {rounded_up, rounded_towards_0}) {
    const char* how = rounding == rounded_up ? "up" : "towards 0";
    const auto add = [&](const std::string& what, const std::optional<Expr>& only) {
      all.push_back({fmt::format("{} rounded {}", what, how),
                     [rounding, only](const Expr& e) { return with_rounding(e, rounding, only); }});
    };
    add("divisions in indices", std::nullopt);
    if (divisions.size() < 2) continue;
    for (const auto& [text, division] : divisions) add(said_as(division), division);
  }
  return all;
}

Uop with_indices(const Uop& u, const std::function<Expr(const Expr&)>& change) {
  if (const auto* i = std::get_if<uop::Iota>(&u.node().kind)) {
    const Expr value = change(i->value);
    return value == i->value ? u : cast(iota(value, shape_of(u)), u.dtype());
  }
  if (const auto* r = std::get_if<uop::Reindex>(&u.node().kind)) {
    std::vector<IndexText> from;
    bool same = true;
    for (const Expr& e : r->from) {
      from.emplace_back(change(e));
      same = same && from.back().expr == e;
    }
    return same ? u : reindex(r->x, shape_of(u), from, r->fill);
  }
  return u;
}

}  // namespace mote::diagnosis
