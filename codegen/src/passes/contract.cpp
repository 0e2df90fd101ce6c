// SPDX-License-Identifier: Apache-2.0
// Removes from a temporary the axes along which every access has the same index under common loops:
// one iteration of those loops accesses one slice, so one slice is enough. Walking the common loops
// from outside in, it stops at the first whose variable occurs in an axis that is not identical in
// all accesses, because such a loop may carry a value from one iteration to the next. So may a loop
// whose variable is not an axis, unless each element that is read is always stored in the same
// iteration. A temporary of rank 0 that is stored once, before its readers, becomes a name.
#include <algorithm>

#include "ir/dependence.h"
#include "ir/references.h"
#include "mote/codegen/passes.h"

namespace mote {
namespace {

using AccessesByTensor = std::map<std::string, std::vector<PlacedAccess>>;

AccessesByTensor accesses_by_tensor(const LoopProgram& p) {
  AccessesByTensor r;
  for (PlacedAccess& a : placed_accesses(p.body)) r[a.access.tensor].push_back(std::move(a));
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

/// Returns the axes whose index is the same expression in every access.
std::vector<bool> alike_axes(const std::vector<PlacedAccess>& all, std::size_t rank) {
  std::vector<bool> alike(rank, true);
  for (std::size_t k = 0; k < rank; ++k)
    for (const PlacedAccess& a : all)
      alike[k] = alike[k] && a.access.index[k] == all.front().access.index[k];
  return alike;
}

/// Returns true if the loop's variable is itself one of the axes that are alike, so that no two
/// iterations share an element.
bool is_an_axis(const Loop& loop, const std::vector<PlacedAccess>& all,
                const std::vector<bool>& alike) {
  for (std::size_t k = 0; k < alike.size(); ++k)
    if (alike[k] && all.front().access.index[k] == Expr(loop.variable)) return true;
  return false;
}

/// Collects the references of a program when they are first needed.
class ReferencesOnce {
 public:
  explicit ReferencesOnce(const LoopProgram& p) : p_(p) {}

  const std::vector<TensorReference>& of(const std::string& tensor) {
    if (!all_) all_ = references_by_tensor(p_.body);
    return (*all_)[tensor];
  }

 private:
  const LoopProgram& p_;
  std::optional<std::map<std::string, std::vector<TensorReference>>> all_;
};

/// Returns true if every element that is read was stored in the same iteration of all common loops.
bool flows_within_iterations(const LoopProgram& p, const std::vector<TensorReference>& all) {
  const Facts facts = base_facts(*p.source);
  return std::all_of(all.begin(), all.end(), [&](const TensorReference& read) {
    return read.kind == TensorReference::Kind::store ||
           std::any_of(all.begin(), all.end(), [&](const TensorReference& write) {
             return is_stored_in_iteration_of(read, write, facts);
           });
  });
}

/// Returns the variables of the common loops whose axes may be removed.
std::set<Symbol> carried_variables(const LoopProgram& p, const std::string& tensor,
                                   const std::vector<PlacedAccess>& all,
                                   const std::vector<bool>& alike, ReferencesOnce& references) {
  std::set<Symbol> variables;
  bool iterations_meet = false;
  for (const Stmt* s : common_path(all)) {
    const Loop* loop = as_loop(*s);
    if (!loop) continue;
    for (const PlacedAccess& a : all)
      for (std::size_t k = 0; k < alike.size(); ++k)
        if (!alike[k] && a.access.index[k].mentions(loop->variable)) return variables;
    if (!is_an_axis(*loop, all, alike) && !iterations_meet) {
      if (!flows_within_iterations(p, references.of(tensor))) return variables;
      iterations_meet = true;
    }
    variables.insert(loop->variable);
  }
  return variables;
}

std::vector<bool> droppable_axes(const LoopProgram& p, const TensorDecl& t,
                                 const std::vector<PlacedAccess>& all, ReferencesOnce& references) {
  const std::size_t rank = t.shape.size();
  const std::vector<bool> alike = alike_axes(all, rank);
  if (std::find(alike.begin(), alike.end(), true) == alike.end()) return alike;
  const std::set<Symbol> carried = carried_variables(p, t.name, all, alike, references);
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

using Drops = std::map<std::string, std::vector<bool>>;  ///< axes to remove, by tensor

void drop_in_stores(Body& body, const Drops& drops) {
  const auto apply = [&](auto& store) {
    const auto found = drops.find(store.tensor);
    if (found != drops.end()) store.index = without(store.index, found->second);
  };
  for (Stmt& s : body) {
    if (Body* nested = nested_body(s)) drop_in_stores(*nested, drops);
    if (auto* w = std::get_if<Store>(&s.kind)) apply(*w);
    if (auto* r = std::get_if<StoreReduce>(&s.kind)) apply(*r);
  }
}

/// Returns true if an index has changed, so that more axes may be alike now.
bool drop_axes(LoopProgram& p, const Drops& drops) {
  bool index_changed = false;
  rewrite_exprs(p.body, [&](const Expr& e) {
    if (!e.has_load()) return e;
    return e.transform([&](const Atom& a) {
      const auto found = a.kind == Atom::Kind::load ? drops.find(a.tensor) : drops.end();
      if (found == drops.end()) return rebuild(a);
      index_changed = true;
      return load(a.tensor, without(a.args, found->second));
    });
  });
  rewrite_values(p.body, [&](const Value& v) {
    const auto* l = std::get_if<value::Load>(&v->kind);
    const auto found = l ? drops.find(l->tensor) : drops.end();
    if (found == drops.end()) return v;
    return load_value(l->tensor, without(l->index, found->second), v->dtype);
  });
  drop_in_stores(p.body, drops);
  for (TensorDecl& t : p.tensors) {
    const auto found = drops.find(t.name);
    if (found == drops.end()) continue;
    t.shape = without(t.shape, found->second);
    t.axis_names = without(t.axis_names, found->second);
  }
  return index_changed;
}

bool drop_axes(LoopProgram& p) {
  const AccessesByTensor accesses = accesses_by_tensor(p);
  ReferencesOnce references(p);
  Drops drops;
  for (const TensorDecl& t : p.tensors) {
    const auto all = accesses.find(t.name);
    if (t.role != TensorRole::temporary || all == accesses.end()) continue;
    std::vector<bool> drop = droppable_axes(p, t, all->second, references);
    if (std::find(drop.begin(), drop.end(), true) != drop.end()) drops[t.name] = std::move(drop);
  }
  return !drops.empty() && drop_axes(p, drops);
}

/// Returns the scalars that one statement stores, with the number of all their accesses.
std::map<std::string, int> bindable_scalars(const LoopProgram& p) {
  std::map<std::string, int> touches;
  std::map<std::string, int> writes;
  for (const TensorDecl& t : p.tensors)
    if (t.role == TensorRole::temporary && t.shape.empty()) touches[t.name] = 0;
  if (touches.empty()) return touches;
  for_each_access(p.body, [&](const std::string& tensor, const std::vector<Expr>&, bool write) {
    const auto found = touches.find(tensor);
    if (found == touches.end()) return;
    ++found->second;
    writes[tensor] += write;
  });
  std::erase_if(touches, [&](const auto& touched) { return writes[touched.first] != 1; });
  return touches;
}

bool reads(const Stmt& s, const std::string& tensor) {
  bool found = false;
  for_each_access(s, [&](const std::string& touched, const std::vector<Expr>&, bool write) {
    found = found || (!write && touched == tensor);
  });
  return found;
}

/// Replaces the only store of a scalar by a Let, if all its readers come after it in the same body,
/// and adds the scalar's name to `named`.
void bind_scalars(Body& body, const std::map<std::string, int>& scalars,
                  std::set<std::string>& named) {
  std::map<std::string, int> later;  // accesses in the statements after
  for (std::size_t k = body.size(); k-- > 0;) {
    const auto* store = std::get_if<Store>(&body[k].kind);
    const auto scalar = store ? scalars.find(store->tensor) : scalars.end();
    for_each_access(body[k], [&](const std::string& tensor, const std::vector<Expr>&, bool) {
      if (scalars.count(tensor)) ++later[tensor];
    });
    if (scalar != scalars.end() && later[scalar->first] == scalar->second &&
        !reads(body[k], scalar->first)) {
      body[k] = {Let{scalar->first, store->value}};
      named.insert(scalar->first);
    }
    if (Body* nested = nested_body(body[k])) bind_scalars(*nested, scalars, named);
  }
}

void name_scalars(LoopProgram& p) {
  const std::map<std::string, int> scalars = bindable_scalars(p);
  if (scalars.empty()) return;
  std::set<std::string> named;
  bind_scalars(p.body, scalars, named);
  if (named.empty()) return;
  rewrite_values(p.body, [&](const Value& v) {
    const auto* l = std::get_if<value::Load>(&v->kind);
    return l && named.count(l->tensor) ? named_value(l->tensor, v->dtype) : v;
  });
  std::erase_if(p.tensors, [&](const TensorDecl& t) { return named.count(t.name) > 0; });
}

void drop_untouched(LoopProgram& p) {
  std::set<std::string> touched;
  for_each_access(p.body, [&](const std::string& tensor, const std::vector<Expr>&, bool) {
    touched.insert(tensor);
  });
  std::erase_if(p.tensors, [&](const TensorDecl& t) {
    return t.role == TensorRole::temporary && touched.count(t.name) == 0;
  });
}

}  // namespace

LoopProgram contract(LoopProgram p) {
  drop_untouched(p);
  while (drop_axes(p)) {
  }
  name_scalars(p);
  return p;
}

}  // namespace mote
