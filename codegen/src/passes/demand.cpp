// SPDX-License-Identifier: Apache-2.0
// Stores a temporary that is read only under some conditions only under them, and likewise the
// reductions that only that store needs. With tighten, a causal mask on the scores thus becomes
// loops that end at the diagonal.
//
// A condition of a read moves to the store if it is about the element (it mentions only the
// variables of the read's index, which become those of the store's), or about an iteration of loops
// that enclose both and the element is stored in the iteration in which it is read. Conditions that
// load data never move: the loaded elements may differ between the read and the store.
#include <algorithm>

#include "ir/dependence.h"
#include "ir/references.h"
#include "mote/codegen/passes.h"
#include "passes/conditions.h"

namespace mote {
namespace {

void add_new(Conditions& to, const Conditions& from) {
  for (const Condition& c : from)
    if (!contains(to, c)) to.push_back(c);
}

/// Returns the conditions of branches on the path.
Conditions conditions_of(std::span<const Stmt* const> path) {
  Conditions all;
  for (const Stmt* s : path)
    if (const auto* branch = std::get_if<If>(&s->kind)) add_new(all, branch->conditions);
  return all;
}

/// Returns the conditions of this read, in terms of the element that is stored.
Conditions conditions_for(const TensorReference& read, const TensorReference& store,
                          const Facts& facts) {
  const auto from = plain_variables(read.index);
  if (!from) return {};
  const std::vector<Symbol> to = *plain_variables(store.index);
  std::map<Symbol, Expr> env;
  for (std::size_t k = 0; k < to.size(); ++k) env.emplace((*from)[k], Expr(to[k]));
  const std::size_t depth = shared_depth(read.path, store.path);
  const std::set<Symbol> of_iteration = variables_of(std::span(store.path).first(depth));

  Conditions own = conditions_of(std::span(read.path).subspan(depth));
  add_new(own, read.guards);
  std::optional<bool> same_iteration;
  Conditions result;
  for (const Condition& c : own) {
    bool movable = !has_load(c);
    for (const Symbol s : c.e.symbols()) {
      if (!movable || s.kind() != SymbolKind::loop || env.count(s) > 0) continue;
      if (!same_iteration) same_iteration = is_stored_in_iteration_of(read, store, facts);
      movable = *same_iteration && of_iteration.count(s) > 0;
    }
    if (movable) add_new(result, {{c.kind, c.e.substitute(env)}});
  }
  return result;
}

/// Returns the only write of the temporary, if it is a store at plain variables and nothing reads
/// the temporary as an index.
const TensorReference* sole_plain_store(const std::vector<TensorReference>& all) {
  const TensorReference* store = nullptr;
  for (const TensorReference& r : all) {
    if (r.kind == TensorReference::Kind::load) continue;
    if (r.kind != TensorReference::Kind::store || store) return nullptr;
    store = &r;
  }
  return store && plain_variables(store->index) ? store : nullptr;
}

/// Returns the conditions that every reader of a temporary is under, from all references to it.
Conditions demanded(const std::vector<TensorReference>& all, const Facts& facts) {
  const TensorReference* store = sole_plain_store(all);
  if (!store) return {};
  std::optional<Conditions> common;
  for (const TensorReference& r : all) {
    if (&r == store) continue;
    const Conditions own = conditions_for(r, *store, facts);
    if (!common) common = own;
    std::erase_if(*common, [&](const Condition& c) { return !contains(own, c); });
  }
  return common.value_or(Conditions{});
}

bool loads_in_index(const Stmt& s) {
  bool found = false;
  for_each_expr(s, [&](const Expr& e) { found = found || e.has_load(); });
  return found;
}

/// The names (of Lets and accumulators) that the statements read which define a name or store to a
/// tensor. Conditions that are added to a statement mention no name, so that this stays true.
class NameReaders {
 public:
  explicit NameReaders(const Body& body) {
    for_each(body, [this](const Stmt& s) { add(s); });
  }

  /// Returns the names that only the stores to the tensor need.
  std::set<std::string> names_for(const std::string& tensor) const {
    std::set<std::string> names;
    std::map<int, int> known_readers;
    std::vector<int> known;
    if (const auto store = stores_.find(tensor); store != stores_.end())
      known.push_back(store->second);
    while (!known.empty()) {
      const int reader = known.back();
      known.pop_back();
      for (const int read : reads_[static_cast<std::size_t>(reader)]) {
        if (++known_readers[read] != readers_[static_cast<std::size_t>(read)]) continue;
        names.insert(names_[static_cast<std::size_t>(read)]);
        known.push_back(read);
      }
    }
    return names;
  }

 private:
  int id_in(std::map<std::string, int>& ids, const std::string& name) {
    const auto [found, is_new] = ids.try_emplace(name, static_cast<int>(names_.size()));
    if (is_new) new_id(name);
    return found->second;
  }

  void new_id(const std::string& name) {
    names_.push_back(name);
    reads_.emplace_back();
    readers_.push_back(0);
  }

  /// Returns the id of what the statement defines; kOther if other statements may need it.
  int made_by(const Stmt& s) {
    if (const auto* store = std::get_if<Store>(&s.kind)) return id_in(stores_, store->tensor);
    if (const auto* fold = std::get_if<Fold>(&s.kind)) return id_in(ids_, fold->accumulator);
    if (const auto* let = std::get_if<Let>(&s.kind); let && !loads_in_index(s))
      return id_in(ids_, let->name);
    return kOther;
  }

  void add(const Stmt& s) {
    if (names_.empty()) new_id("");
    const int reader = made_by(s);
    const auto reads = [&](const std::string& name) {
      const int read = id_in(ids_, name);
      if (!pairs_.insert({reader, read}).second) return;
      reads_[static_cast<std::size_t>(reader)].push_back(read);
      ++readers_[static_cast<std::size_t>(read)];
    };
    for_each_expr(s, [&](const Expr& e) {
      for_each_load(e, [&](const Atom& a) {
        if (a.args.empty()) reads(a.tensor);
      });
    });
    for_each_value(s, [&](const Value& v) {
      if (const auto* a = std::get_if<value::Accumulated>(&v->kind)) reads(a->name);
      if (const auto* b = std::get_if<value::Named>(&v->kind)) reads(b->name);
    });
  }

  static constexpr int kOther = 0;
  std::map<std::string, int> ids_;     ///< ids of names
  std::map<std::string, int> stores_;  ///< ids of tensors that are stored
  std::vector<std::string> names_;     ///< by id, as are the next two
  std::vector<std::vector<int>> reads_;
  std::vector<int> readers_;
  std::set<std::pair<int, int>> pairs_;
};

/// Finds the statements that only the store to `tensor` needs, including the store itself: names
/// that they alone read, folds of accumulators that they alone read.
class Suppliers {
 public:
  Suppliers(const NameReaders& readers, std::string tensor)
      : tensor_(std::move(tensor)), names_(readers.names_for(tensor_)) {}

  bool has(const Stmt& s) const {
    if (const auto* store = std::get_if<Store>(&s.kind)) return store->tensor == tensor_;
    if (const auto* fold = std::get_if<Fold>(&s.kind)) return names_.count(fold->accumulator) > 0;
    const auto* let = std::get_if<Let>(&s.kind);
    return let && names_.count(let->name) > 0 && !loads_in_index(s);
  }

  /// Returns true if the name is, or contains, the position of an argmax, which does not exist if
  /// its loop does not run.
  static bool reads_position(const Let& let) {
    bool found = false;
    for_each_value(let.value, [&](const Value& v) {
      found =
          found || (std::holds_alternative<value::Accumulated>(v->kind) && is_integer(v->dtype));
    });
    return found;
  }

  /// Returns true if the loop computes accumulators and nothing that another statement needs.
  bool are_all_in(const Loop& loop) const {
    bool folds = false;
    return are_all_in(loop.body, folds) && folds;
  }

 private:
  bool are_all_in(const Body& body, bool& folds) const {
    return std::all_of(body.begin(), body.end(), [&](const Stmt& s) {
      if (const Body* nested = nested_body(s)) return are_all_in(*nested, folds);
      const bool folds_here = std::holds_alternative<Fold>(s.kind);
      folds = folds || folds_here;
      return (folds_here || std::holds_alternative<Let>(s.kind)) && has(s);
    });
  }

  std::string tensor_;
  std::set<std::string> names_;
};

Conditions in_scope(const Conditions& conditions, const std::set<Symbol>& scope) {
  Conditions kept = conditions;
  std::erase_if(kept, [&](const Condition& c) {
    const auto& symbols = c.e.symbols();
    return std::any_of(symbols.begin(), symbols.end(), [&](Symbol s) {
      return s.kind() == SymbolKind::loop && scope.count(s) == 0;
    });
  });
  return kept;
}

void put_under(Stmt& s, const Conditions& conditions) {
  if (conditions.empty()) return;
  Body inner;
  inner.push_back(std::move(s));
  s = {If{conditions, std::move(inner)}};
}

/// Puts the store and its suppliers under those conditions whose variables are in scope there.
void apply(Body& body, const Suppliers& suppliers, const Conditions& conditions,
           const std::set<Symbol>& scope) {
  for (Stmt& s : body) {
    if (Loop* loop = as_loop(s)) {
      if (suppliers.are_all_in(*loop)) {
        put_under(s, in_scope(conditions, scope));
        continue;
      }
      std::set<Symbol> inner = scope;
      inner.insert(loop->variable);
      apply(loop->body, suppliers, conditions, inner);
    } else if (auto* branch = std::get_if<If>(&s.kind)) {
      apply(branch->body, suppliers, conditions, scope);
    } else if (!suppliers.has(s)) {
      continue;
    } else if (std::holds_alternative<Store>(s.kind)) {
      put_under(s, conditions);
    } else if (auto* let = std::get_if<Let>(&s.kind)) {
      if (!Suppliers::reads_position(*let)) continue;
      const Number none = neutral(ReduceOp::sum, let->value->dtype);
      let->value = guard_value(in_scope(conditions, scope), let->value, none);
    } else if (auto* fold = std::get_if<Fold>(&s.kind)) {
      if (fold->op == ReduceOp::argmax || fold->op == ReduceOp::argmin) continue;
      fold->value = guard_value(in_scope(conditions, scope), fold->value,
                                neutral(fold->op, fold->value->dtype));
    }
  }
}

/// Merges a branch that holds only a branch into one: tighten reads conditions one level deep.
void merge_nested_branches(Body& body) {
  for (Stmt& s : body) {
    Body* nested = nested_body(s);
    if (!nested) continue;
    merge_nested_branches(*nested);
    auto* branch = std::get_if<If>(&s.kind);
    if (!branch || branch->body.size() != 1) continue;
    auto* inner = std::get_if<If>(&branch->body.front().kind);
    if (!inner) continue;
    add_new(branch->conditions, inner->conditions);
    Body rest = std::move(inner->body);
    branch->body = std::move(rest);
  }
}

}  // namespace

LoopProgram demand(LoopProgram p) {
  const Facts facts = base_facts(*p.source);
  bool changed = false;
  const NameReaders readers(p.body);
  const auto all = references_by_tensor(p.body);  // until conditions are added
  for (auto t = p.tensors.rbegin(); t != p.tensors.rend(); ++t) {
    if (t->role != TensorRole::temporary || t->shape.empty()) continue;
    const auto found = all.find(t->name);
    if (found == all.end()) continue;
    const Conditions conditions =
        demanded(changed ? references(p.body, t->name) : found->second, facts);
    if (conditions.empty()) continue;
    apply(p.body, Suppliers(readers, t->name), conditions, {});
    changed = true;
  }
  if (!changed) return p;
  p = simplify(std::move(p));
  merge_nested_branches(p.body);
  return p;
}

}  // namespace mote
