// SPDX-License-Identifier: Apache-2.0
// Turns t[i] = c(i) ? v : f into a store under c, and each load t[j] into c(j) ? t[j] : f. So a
// guard in a temporary reaches its readers, where it can become a loop limit.
#include "ir/dependence.h"
#include "ir/references.h"
#include "mote/codegen/passes.h"
#include "passes/conditions.h"

namespace mote {
namespace {

/// Returns the tensors that only one statement writes, a Store of a guarded value.
std::map<std::string, const Store*> guarded_stores(const LoopProgram& p) {
  std::map<std::string, const Store*> found;
  std::map<std::string, int> writes;
  for_each(p.body, [&](const Stmt& s) {
    if (const auto* r = std::get_if<StoreReduce>(&s.kind)) ++writes[r->tensor];
    const auto* store = std::get_if<Store>(&s.kind);
    if (!store) return;
    ++writes[store->tensor];
    if (std::holds_alternative<value::Guard>(store->value->kind)) found[store->tensor] = store;
  });
  std::erase_if(found, [&](const auto& store) { return writes[store.first] != 1; });
  return found;
}

bool is_loaded_in_index(const LoopProgram& p, const std::string& tensor) {
  bool found = false;
  for_each(p.body, [&](const Stmt& s) {
    for_each_expr(s, [&](const Expr& e) {
      if (!e.has_load()) return;
      e.transform([&](const Atom& a) {
        found = found || (a.kind == Atom::Kind::load && a.tensor == tensor);
        return Expr::from_atom(a);
      });
    });
  });
  return found;
}

/// Returns true if the conditions mention only the variables of the store's index, sizes and
/// parameters, and load nothing.
bool depends_only_on(const Conditions& conditions, const std::vector<Symbol>& variables) {
  const std::set<Symbol> known(variables.begin(), variables.end());
  for (const Condition& c : conditions) {
    if (has_load(c)) return false;
    for (const Symbol s : c.e.symbols())
      if (s.kind() == SymbolKind::loop && !known.count(s)) return false;
  }
  return true;
}

void store_under_condition(Body& body, const std::string& tensor) {
  for (Stmt& s : body) {
    if (Body* nested = nested_body(s)) {
      store_under_condition(*nested, tensor);
    } else if (auto* store = std::get_if<Store>(&s.kind); store && store->tensor == tensor) {
      const auto guard = std::get<value::Guard>(store->value->kind);
      Body inner;
      inner.push_back({Store{tensor, store->index, guard.then}});
      s = {If{guard.conditions, std::move(inner)}};
    }
  }
}

/// True if the program has changed.
bool unguard_one(LoopProgram& p, const TensorDecl& t, const Store& store, const Facts& facts) {
  const value::Guard guard = std::get<value::Guard>(store.value->kind);
  const auto variables = plain_variables(store.index);
  if (!variables || !depends_only_on(guard.conditions, *variables)) return false;
  if (is_loaded_in_index(p, t.name)) return false;
  store_under_condition(p.body, t.name);
  rewrite_values(p.body, [&](const Value& v) {
    const auto* l = std::get_if<value::Load>(&v->kind);
    if (!l || l->tensor != t.name) return v;
    std::map<Symbol, Expr> env;
    for (std::size_t k = 0; k < variables->size(); ++k) env.emplace((*variables)[k], l->index[k]);
    Conditions conditions;
    for (const Condition& c : guard.conditions) conditions.push_back({c.kind, c.e.substitute(env)});
    return guarded(conditions, v, guard.otherwise, facts);
  });
  return true;
}

}  // namespace

LoopProgram unguard(LoopProgram p) {
  const Facts facts = base_facts(*p.source);
  const std::vector<TensorDecl> tensors = p.tensors;
  auto stores = guarded_stores(p);
  for (const TensorDecl& t : tensors) {
    const auto store = stores.find(t.name);
    if (t.role != TensorRole::temporary || store == stores.end()) continue;
    if (unguard_one(p, t, *store->second, facts)) stores = guarded_stores(p);
  }
  return p;
}

}  // namespace mote
