// A temporary loses the axes along which every access goes alike under common loops: one round of
// those loops touches one slice, so one slice is enough. Walking the common loops from outside in,
// it stops at the first whose variable occurs in an axis that is not identical in all accesses:
// such a loop may carry a value from round to round. So may a loop whose variable is no axis at
// all, unless what is read is always stored in the same round. A temporary of rank 0 that is stored
// once, before its readers, becomes a name.
#include <algorithm>

#include "dependence.h"
#include "mote/codegen/passes.h"
#include "references.h"

namespace mote {
namespace {

std::vector<PlacedAccess> accesses_of(const LoopProgram& p, const std::string& tensor) {
  std::vector<PlacedAccess> r;
  for (PlacedAccess& a : placed_accesses(p.body))
    if (a.access.tensor == tensor) r.push_back(std::move(a));
  return r;
}

std::vector<const Stmt*> common_path(const std::vector<PlacedAccess>& all) {
  std::vector<const Stmt*> common = all.front().path;
  for (const PlacedAccess& a : all) {
    const auto ends = std::mismatch(common.begin(), common.end(), a.path.begin(), a.path.end());
    common.erase(ends.first, common.end());
  }
  return common;
}

/// Axes whose index is the same expression in every access.
std::vector<bool> alike_axes(const std::vector<PlacedAccess>& all, std::size_t rank) {
  std::vector<bool> alike(rank, true);
  for (std::size_t k = 0; k < rank; ++k)
    for (const PlacedAccess& a : all)
      alike[k] = alike[k] && a.access.index[k] == all.front().access.index[k];
  return alike;
}

/// The loop's variable is itself one of the axes that are alike: no two rounds share an element.
bool is_an_axis(const Loop& loop, const std::vector<PlacedAccess>& all,
                const std::vector<bool>& alike) {
  for (std::size_t k = 0; k < alike.size(); ++k)
    if (alike[k] && all.front().access.index[k] == Expr(loop.variable)) return true;
  return false;
}

/// What is read was stored in the same round of all common loops.
bool flows_within_rounds(const LoopProgram& p, const std::string& tensor) {
  const Facts facts = base_facts(*p.source);
  const std::vector<Reference> all = references(p.body, tensor);
  return std::all_of(all.begin(), all.end(), [&](const Reference& read) {
    return read.kind == Reference::Kind::store ||
           std::any_of(all.begin(), all.end(), [&](const Reference& write) {
             return is_stored_in_round_of(read, write, facts);
           });
  });
}

/// The variables of the common loops that axes may go with.
std::set<Symbol> carried_variables(const LoopProgram& p, const std::string& tensor,
                                   const std::vector<PlacedAccess>& all,
                                   const std::vector<bool>& alike) {
  std::set<Symbol> variables;
  bool rounds_meet = false;
  for (const Stmt* s : common_path(all)) {
    const Loop* loop = as_loop(*s);
    if (!loop) continue;
    for (const PlacedAccess& a : all)
      for (std::size_t k = 0; k < alike.size(); ++k)
        if (!alike[k] && a.access.index[k].mentions(loop->variable)) return variables;
    if (!is_an_axis(*loop, all, alike) && !rounds_meet) {
      if (!flows_within_rounds(p, tensor)) return variables;
      rounds_meet = true;
    }
    variables.insert(loop->variable);
  }
  return variables;
}

std::vector<bool> droppable_axes(const LoopProgram& p, const TensorDecl& t,
                                 const std::vector<PlacedAccess>& all) {
  const std::size_t rank = t.shape.size();
  const std::vector<bool> alike = alike_axes(all, rank);
  if (std::find(alike.begin(), alike.end(), true) == alike.end()) return alike;
  const std::set<Symbol> carried = carried_variables(p, t.name, all, alike);
  std::vector<bool> drop(rank, false);
  for (std::size_t k = 0; k < rank; ++k) {
    const Expr& e = all.front().access.index[k];
    drop[k] = alike[k] && !e.has_load() &&
              std::all_of(e.symbols().begin(), e.symbols().end(), [&](Symbol s) {
                return s.kind() != SymbolKind::loop || carried.count(s) > 0;
              });
  }
  return drop;
}

template <typename T>
std::vector<T> without(const std::vector<T>& v, const std::vector<bool>& drop) {
  std::vector<T> r;
  for (std::size_t k = 0; k < v.size(); ++k)
    if (k >= drop.size() || !drop[k]) r.push_back(v[k]);
  return r;
}

void drop_in_stores(Body& body, const std::string& tensor, const std::vector<bool>& drop) {
  for (Stmt& s : body) {
    if (Body* nested = nested_body(s)) drop_in_stores(*nested, tensor, drop);
    if (auto* w = std::get_if<Store>(&s.kind); w && w->tensor == tensor)
      w->index = without(w->index, drop);
    if (auto* r = std::get_if<StoreReduce>(&s.kind); r && r->tensor == tensor)
      r->index = without(r->index, drop);
  }
}

void drop_axes(LoopProgram& p, TensorDecl& t, const std::vector<bool>& drop) {
  rewrite_exprs(p.body, [&](const Expr& e) {
    if (!e.has_load()) return e;
    return e.transform([&](const Atom& a) {
      if (a.kind != Atom::Kind::load || a.tensor != t.name) return rebuild(a);
      return load(a.tensor, without(a.args, drop));
    });
  });
  rewrite_values(p.body, [&](const Value& v) {
    const auto* l = std::get_if<value::Load>(&v->kind);
    if (!l || l->tensor != t.name) return v;
    return load_value(l->tensor, without(l->index, drop), v->dtype);
  });
  drop_in_stores(p.body, t.name, drop);
  t.shape = without(t.shape, drop);
  t.axis_names = without(t.axis_names, drop);
}

int mentions(std::span<const Stmt> body, const std::string& tensor) {
  int n = 0;
  for (const Stmt& s : body)
    for (const Access& a : accesses(s)) n += a.tensor == tensor;
  return n;
}

/// Replaces the only store of a scalar by a Let, where everything that reads it comes after it in
/// the same body.
bool bind_scalar(Body& body, const std::string& tensor, int total) {
  for (std::size_t k = 0; k < body.size(); ++k) {
    if (Body* nested = nested_body(body[k])) {
      if (bind_scalar(*nested, tensor, total)) return true;
      continue;
    }
    const auto* store = std::get_if<Store>(&body[k].kind);
    if (!store || store->tensor != tensor) continue;
    const std::span<const Stmt> rest(body.data() + k + 1, body.size() - k - 1);
    if (mentions(rest, tensor) != total - 1) return false;
    body[k] = {Let{tensor, store->value}};
    return true;
  }
  return false;
}

bool become_name(LoopProgram& p, const TensorDecl& t) {
  const std::vector<PlacedAccess> all = accesses_of(p, t.name);
  const auto writes =
      std::count_if(all.begin(), all.end(), [](const PlacedAccess& a) { return a.access.write; });
  if (writes != 1 || !bind_scalar(p.body, t.name, static_cast<int>(all.size()))) return false;
  rewrite_values(p.body, [&](const Value& v) {
    const auto* l = std::get_if<value::Load>(&v->kind);
    return l && l->tensor == t.name ? bound_value(t.name, v->dtype) : v;
  });
  return true;
}

}  // namespace

LoopProgram contract(LoopProgram p) {
  std::vector<TensorDecl> kept;
  for (std::size_t k = 0; k < p.tensors.size(); ++k) {
    TensorDecl& t = p.tensors[k];
    if (t.role != TensorRole::temporary) {
      kept.push_back(t);
      continue;
    }
    const std::vector<PlacedAccess> all = accesses_of(p, t.name);
    if (all.empty()) continue;
    const std::vector<bool> drop = droppable_axes(p, t, all);
    if (std::find(drop.begin(), drop.end(), true) != drop.end()) drop_axes(p, t, drop);
    if (t.shape.empty() && become_name(p, t)) continue;
    kept.push_back(t);
  }
  p.tensors = std::move(kept);
  return p;
}

}  // namespace mote
