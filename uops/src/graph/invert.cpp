// SPDX-License-Identifier: Apache-2.0
// invert() finds the scatters, asks the solver, and writes the gathers.
#include "mote/uops/invert.h"

#include <algorithm>
#include <unordered_map>

#include "expr/index_solver.h"
#include "graph/node.h"

namespace mote {
namespace {

bool is_zero(const Uop& u) {
  if (const auto* r = std::get_if<uop::Reindex>(&u.node().kind))
    return is_zero(r->x) && same(r->fill, constant_of(0, u.dtype(), "fill"));
  const auto* s = std::get_if<uop::Scalar>(&u.node().kind);
  return s && same(s->value, constant_of(0, u.dtype(), "zero"));
}

/// Collects the equalities of positions with constants in a condition that holds.
void collect_known(const Uop& condition, std::vector<IndexEquation>& known) {
  const auto* m = std::get_if<uop::Map>(&condition.node().kind);
  if (!m || (m->op != MapOp::logical_and && m->op != MapOp::eq)) return;
  if (m->op == MapOp::logical_and) {
    for (const Uop& a : m->args) collect_known(a, known);
    return;
  }
  const auto* position = std::get_if<uop::Iota>(&m->args[0].node().kind);
  const auto* value = std::get_if<uop::Scalar>(&m->args[1].node().kind);
  if (position && value && !value->value.is_real())
    known.push_back({position->value, Expr(value->value.integer())});
}

/// Returns the equalities that hold wherever x is not 0.
std::vector<IndexEquation> known_of(const Uop& x) {
  std::vector<IndexEquation> known;
  const auto* m = std::get_if<uop::Map>(&x.node().kind);
  if (m && m->op == MapOp::where && is_zero(m->args[2])) collect_known(m->args[0], known);
  return known;
}

Uop onto(const Uop& base, const Uop& sum) { return is_zero(base) ? sum : base + sum; }

/// Returns the gather; empty if there is none.
Uop gather(const uop::Scatter& k, const Uop& base, const Uop& x, const Program& p) {
  if (k.op != ScatterOp::add) return {};
  const auto s = solve_index({k.to, x.shape(), base.shape(), known_of(x), p.params});
  if (!s || base.shape().size() + s->free.size() > kMaxRank) return {};
  Shape wide = shape_of(base);
  Axes summed;
  for (const IndexSolution::Free& f : s->free) {
    summed.push_back(static_cast<int>(wide.size()));
    const bool named = f.axis.has_value();
    wide.emplace_back(f.extent,
                      named ? x.node().axis_names[static_cast<std::size_t>(*f.axis)] : "");
  }
  Uop y = reindex(x, wide, {s->index.begin(), s->index.end()});
  Uop divides;
  for (const Expr& c : s->conditions) {
    const Uop one = eq(iota(c, wide), 0);
    divides = divides ? divides && one : one;
  }
  if (divides) y = where(divides, y, 0);
  return onto(base, summed.empty() ? y : sum_over(y, summed));
}

Uop gather(const uop::SelectScatter& k, const Uop& base, const Uop& x, const Uop& index) {
  const auto axis = static_cast<std::size_t>(k.axis);
  if (k.op != ScatterOp::add || x.shape()[axis] != Expr(1)) return {};
  const Shape shape = shape_of(base);
  std::vector<IndexText> from;
  for (int a = 0; a < base.rank(); ++a) from.emplace_back(a == k.axis ? Expr(0) : Expr::loop(a));
  const Uop here = cast(iota(Expr::loop(k.axis), shape), DType::i64);
  const Uop there = cast(reindex(index, shape, from, -1), DType::i64);
  return onto(base, where(eq(there, here), reindex(x, shape, from), 0));
}

}  // namespace

Program invert(const Program& p) {
  const std::vector<Uop> roots = inputs_and_roots(p.inputs, p.outputs);
  std::unordered_map<const UopNode*, Uop> made;
  for (const Uop& u : topological(roots)) {
    std::vector<Uop> args = operands(u);
    bool changed = false;
    for (Uop& a : args) {
      const Uop& b = made.at(a.id());
      changed = changed || a.id() != b.id();
      a = b;
    }
    Uop y;
    if (const auto* k = std::get_if<uop::Scatter>(&u.node().kind))
      y = gather(*k, args[0], args[1], p);
    else if (const auto* k = std::get_if<uop::SelectScatter>(&u.node().kind))
      y = gather(*k, args[0], args[1], args[2]);
    if (!y) y = changed ? rebuild(u, args, {}) : u;
    made.emplace(u.id(), y);
  }
  ProgramSpec spec{p.name, p.equation, p.params, p.inputs, {}, p.sizes, p.constraints};
  for (const Output& o : p.outputs) spec.outputs.push_back({o.name, made.at(o.value.id())});
  return make_program(std::move(spec));
}

}  // namespace mote
