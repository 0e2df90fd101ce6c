// SPDX-License-Identifier: Apache-2.0
// Edits that keep the graph, but make sizes, index maps, fills and ops plainer.
#include "edit_program.h"
#include "simpler.h"

namespace mote::test {
namespace {

using Source = std::shared_ptr<const Program>;

/// Makes the edit that replaces the node by `make` of its rebuilt operands.
Edit renewed(const Source& p, const Uop& node,
             std::function<Uop(const std::vector<Uop>& args)> make) {
  return [=] {
    return edited(*p, [&](const Uop& u, const std::vector<Uop>& args) {
      return u.id() == node.id() ? make(args) : Uop();
    });
  };
}

Number zero_of(DType dtype) { return is_real(dtype) ? Number(0.0) : Number(0); }

/// Returns simpler index expressions: one axis, zero, one term less.
std::vector<Expr> simpler(const Expr& e, int rank) {
  std::vector<Expr> all;
  const bool is_plain = e.constant() || e.as_symbol();
  for (int k = 0; k < rank && !is_plain; ++k) all.push_back(Expr::loop(k));
  if (e != Expr(0)) all.emplace_back(0);
  if (e.terms().size() < 2) return all;
  for (const Term& t : e.terms()) {
    Expr term = t.coefficient;
    for (const Atom& a : t.atoms) term = term * Expr::from_atom(a);
    all.push_back(e - term);
  }
  return all;
}

void simpler_reindex(const Source& p, const Uop& u, const uop::Reindex& r,
                     std::vector<Edit>& edits) {
  const auto add = [&](const std::vector<Expr>& from, const Number& fill) {
    edits.push_back(renewed(p, u, [u, from, fill](const std::vector<Uop>& args) {
      return reindex(args[0], axes_of(u), {from.begin(), from.end()}, fill);
    }));
  };
  for (std::size_t k = 0; k < r.from.size(); ++k)
    for (const Expr& e : simpler(r.from[k], u.rank())) {
      std::vector<Expr> from = r.from;
      from[k] = e;
      add(from, r.fill);
    }
  if (!identical(r.fill, zero_of(u.dtype()))) add(r.from, zero_of(u.dtype()));
}

void simpler_scatter(const Source& p, const Uop& u, const uop::Scatter& s,
                     std::vector<Edit>& edits) {
  for (std::size_t k = 0; k < s.to.size(); ++k)
    for (const Expr& e : simpler(s.to[k], s.x.rank())) {
      std::vector<Expr> to = s.to;
      to[k] = e;
      edits.push_back(renewed(p, u, [to, op = s.op](const std::vector<Uop>& args) {
        return scatter(op, args[0], args[1], {to.begin(), to.end()});
      }));
    }
}

void simpler_map(const Source& p, const Uop& u, const uop::Map& m, std::vector<Edit>& edits) {
  if (u.dtype() == DType::boolean || m.op == MapOp::cast || m.args.size() > 2) return;
  const MapOp plain = m.args.size() == 1 ? MapOp::neg : MapOp::add;
  if (m.op == plain) return;
  edits.push_back(
      renewed(p, u, [plain](const std::vector<Uop>& args) { return map(plain, args); }));
}

void simpler_node(const Source& p, const Uop& u, std::vector<Edit>& edits) {
  const uop::Kind& kind = u.node().kind;
  if (const auto* r = std::get_if<uop::Reindex>(&kind)) simpler_reindex(p, u, *r, edits);
  if (const auto* m = std::get_if<uop::Map>(&kind)) simpler_map(p, u, *m, edits);
  if (const auto* s = std::get_if<uop::Scatter>(&kind)) simpler_scatter(p, u, *s, edits);
  if (const auto* i = std::get_if<uop::Iota>(&kind))
    for (const Expr& e : simpler(i->value, u.rank()))
      edits.push_back(renewed(
          p, u, [u, e](const std::vector<Uop>&) { return cast(iota(e, axes_of(u)), u.dtype()); }));
  if (const auto* s = std::get_if<uop::Select>(&kind);
      s != nullptr && !identical(s->fill, zero_of(u.dtype())))
    edits.push_back(renewed(p, u, [u, axis = s->axis](const std::vector<Uop>& args) {
      return select(args[0], axis, args[1], zero_of(u.dtype()));
    }));
  if (const auto* r = std::get_if<uop::Reduce>(&kind); r != nullptr && r->op != ReduceOp::sum &&
                                                       u.dtype() != DType::boolean &&
                                                       r->x.dtype() == u.dtype())
    edits.push_back(renewed(p, u, [axes = r->axes](const std::vector<Uop>& args) {
      return reduce(ReduceOp::sum, args[0], axes);
    }));
}

}  // namespace

std::vector<Edit> plainer_nodes(const Source& p) {
  std::vector<Edit> edits;
  const auto add = [&](Symbol symbol, const Expr& value) {
    edits.emplace_back([=] { return with_symbol(*p, symbol, value); });
  };
  for (const SizeRule& rule : p->size_rules) {
    for (const int value : {1, 2, 3}) add(rule.size, value);
    if (!(rule.size == p->size_rules[0].size)) add(rule.size, Expr(p->size_rules[0].size));
  }
  for (const ParamDecl& param : p->params)
    for (const int value : {1, 0, 2})
      if (param.is_integer) add(Symbol(SymbolKind::param, param.name), value);
  for (const Uop& u : nodes_of(*p)) simpler_node(p, u, edits);
  return edits;
}

}  // namespace mote::test
