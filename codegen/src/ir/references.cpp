// SPDX-License-Identifier: Apache-2.0
// Collects references, and proves the order in which two of them run.
#include "ir/references.h"

#include <algorithm>

#include "ir/dependence.h"
#include "passes/conditions.h"

namespace mote {
namespace {

/// Adds to the element the iteration of `outer`, a loop over parts, whose part holds the
/// element's value of the loop that runs over a part; returns false if there is none.
bool choose_part(const Loop& outer, std::span<const Stmt* const> path,
                 std::map<Symbol, Expr>& element, Facts& facts) {
  for (const Stmt* s : path) {
    const Loop* inner = as_loop(*s);
    if (inner == nullptr || inner->begin != Expr(outer.variable)) continue;
    const auto at = element.find(inner->variable);
    if (at == element.end()) return false;
    const Expr value = at->second;
    if (!proves(facts, {Condition::Kind::nonneg, value - outer.begin}) ||
        !proves(facts, {Condition::Kind::nonneg, outer.end - value - 1}))
      return false;
    const Symbol offset(SymbolKind::loop, outer.variable.name() + " offset");
    facts.set_range(offset, 0, outer.step);
    element.emplace(outer.variable, value - Expr(offset));
    return true;
  }
  return false;
}

/// An index that consists of at most one variable that a loop changes, and of what does not change.
struct Moving {
  std::optional<Symbol> variable;
  Expr rest;
};

/// Returns the parts of the index in an iteration of the loops with those variables; nullopt for
/// any other index.
std::optional<Moving> moving_in(const Expr& index, const std::set<Symbol>& fixed) {
  if (index.has_load()) return std::nullopt;
  Moving m{std::nullopt, index};
  for (const Symbol s : index.symbols()) {
    if (s.kind() != SymbolKind::loop || fixed.contains(s)) continue;
    const auto linear = linear_in(index, s);
    if (m.variable || !linear || linear->factor != Expr(1)) return std::nullopt;
    m = {s, linear->rest};
  }
  return m;
}

class Collector {
 public:
  /// Collects the references to one tensor, or to all (null).
  explicit Collector(const std::string* tensor) : tensor_(tensor) {}

  std::vector<TensorReference> run(const Body& body) {
    visit(body);
    return std::move(found_);
  }

 private:
  void visit(const Body& body) {
    for (const Stmt& s : body) {
      ++order_;
      statement_ = &s;
      if (const Body* nested = nested_body(s)) {
        for_each_expr(s, [this](const Expr& e) { loads_in(e); });
        path_.push_back(&s);
        visit(*nested);
        path_.pop_back();
      } else {
        statement(s);
      }
    }
  }

  void statement(const Stmt& s) {
    if (const auto* x = std::get_if<Store>(&s.kind)) {
      write(TensorReference::Kind::store, x->tensor, x->index, x->value);
    } else if (const auto* r = std::get_if<StoreReduce>(&s.kind)) {
      write(TensorReference::Kind::store_reduce, r->tensor, r->index, r->value);
    } else if (const auto* f = std::get_if<Fold>(&s.kind)) {
      value(f->value);
      loads_in(f->position);
    } else if (const auto* let = std::get_if<Let>(&s.kind)) {
      value(let->value);
    }
  }

  void write(TensorReference::Kind kind, const std::string& tensor, const std::vector<Expr>& index,
             const Value& v) {
    value(v);
    for (const Expr& e : index) loads_in(e);
    add(kind, tensor, index);
  }

  void value(const Value& v) {
    if (!v->has_index) return;
    if (const auto* i = std::get_if<value::Index>(&v->kind)) {
      loads_in(i->e);
    } else if (const auto* l = std::get_if<value::Load>(&v->kind)) {
      for (const Expr& e : l->index) loads_in(e);
      add(TensorReference::Kind::load, l->tensor, l->index);
    } else if (const auto* op = std::get_if<value::Op>(&v->kind)) {
      for (const Value& a : op->args) value(a);
    } else if (const auto* g = std::get_if<value::Guard>(&v->kind)) {
      for (const Condition& c : g->conditions) loads_in(c.e);
      const std::size_t outer = guards_.size();
      guards_.insert(guards_.end(), g->conditions.begin(), g->conditions.end());
      value(g->then);
      guards_.resize(outer);
    }
  }

  void loads_in(const Expr& e) {
    for_each_load(
        e, [this](const Atom& a) { add(TensorReference::Kind::index_load, a.tensor, a.args); });
  }

  void add(TensorReference::Kind kind, const std::string& tensor, const std::vector<Expr>& index) {
    if (!tensor_ || tensor == *tensor_)
      found_.push_back({kind, tensor, index, path_, guards_, order_, statement_});
  }

  const std::string* tensor_;
  std::vector<TensorReference> found_;
  std::vector<const Stmt*> path_;
  Conditions guards_;
  int order_ = 0;
  const Stmt* statement_ = nullptr;
};

}  // namespace

std::vector<TensorReference> references(const Body& body) { return Collector(nullptr).run(body); }

std::map<std::string, std::vector<TensorReference>> references_by_tensor(const Body& body) {
  std::map<std::string, std::vector<TensorReference>> all;
  for (TensorReference& r : references(body)) all[r.tensor].push_back(std::move(r));
  return all;
}

std::vector<TensorReference> references(const Body& body, const std::string& tensor) {
  return Collector(&tensor).run(body);
}

bool precedes(const TensorReference& a, const TensorReference& b) {
  return a.order < b.order || (a.order == b.order && !a.is_write() && b.is_write());
}

std::optional<std::vector<Symbol>> plain_variables(const std::vector<Expr>& index) {
  std::vector<Symbol> variables;
  std::set<Symbol> seen;
  for (const Expr& e : index) {
    const auto v = e.as_symbol();
    if (!v || v->kind() != SymbolKind::loop || !seen.insert(*v).second) return std::nullopt;
    variables.push_back(*v);
  }
  return variables;
}

std::size_t shared_depth(const std::vector<const Stmt*>& a, const std::vector<const Stmt*>& b) {
  const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(ends.first - a.begin());
}

std::set<Symbol> variables_of(std::span<const Stmt* const> path) {
  std::set<Symbol> variables;
  for (const Stmt* s : path)
    if (const Loop* l = as_loop(*s)) {
      variables.insert(l->variable);
      for (const LoopDigit& d : l->digits) variables.insert(d.variable);
    }
  return variables;
}

std::set<Symbol> loops_over_parts(std::span<const Stmt* const> path, const Loop& outer,
                                  const Facts& facts) {
  const Expr next = Expr(outer.variable) + outer.step;
  std::set<Symbol> parts;
  for (const Stmt* s : path) {
    const Loop* inner = as_loop(*s);
    const auto start = inner != nullptr ? inner->begin.as_symbol() : std::nullopt;
    if (start && (*start == outer.variable || parts.contains(*start)) &&
        facts.prove_nonneg(next - inner->end))
      parts.insert(inner->variable);
  }
  return parts;
}

Facts facts_at(const TensorReference& r, Facts facts) {
  for (const Stmt* s : r.path) {
    if (const Loop* l = as_loop(*s)) {
      set_ranges(*l, facts);
      if (const auto step = l->step.constant(); step && *step > 1)
        facts.assume_nonneg(l->begin + (ceil_div(l->end - l->begin, *step) - 1) * *step -
                            Expr(l->variable));
    } else {
      facts = assuming(facts, std::get<If>(s->kind).conditions);
    }
  }
  return assuming(facts, r.guards);
}

bool runs_for(std::span<const Stmt* const> path, std::map<Symbol, Expr> element, Facts facts) {
  for (const Stmt* s : path) {
    if (const Loop* l = as_loop(*s)) {
      if (l->step != Expr(1)) {
        if (!choose_part(*l, path, element, facts)) return false;
        continue;
      }
      const auto at = element.find(l->variable);
      if (at == element.end()) return false;
      const Expr begin = l->begin.substitute(element), end = l->end.substitute(element);
      if (!proves(facts, {Condition::Kind::nonneg, at->second - begin})) return false;
      if (!proves(facts, {Condition::Kind::nonneg, end - at->second - 1})) return false;
      continue;
    }
    for (const Condition& c : std::get<If>(s->kind).conditions) {
      if (has_load(c)) return false;
      if (!proves(facts, {c.kind, c.e.substitute(element)})) return false;
    }
  }
  return true;
}

namespace {

/// Returns the values of the variables of the store's own loops for which it stores the element
/// that is read; nullopt if its indices do not determine them, or if it does not precede the read.
std::optional<std::map<Symbol, Expr>> element_of(const TensorReference& read,
                                                 const TensorReference& store) {
  if (store.kind != TensorReference::Kind::store || !precedes(store, read)) return std::nullopt;
  const std::size_t depth = shared_depth(read.path, store.path);
  const std::set<Symbol> shared = variables_of(std::span(store.path).first(depth));
  std::map<Symbol, Expr> element;
  for (std::size_t k = 0; k < store.index.size(); ++k) {
    if (read.index[k].has_load()) return std::nullopt;
    const auto moving = moving_in(store.index[k], shared);
    if (!moving) return std::nullopt;
    if (!moving->variable) {
      if (read.index[k] != store.index[k]) return std::nullopt;
    } else if (!element.emplace(*moving->variable, read.index[k] - moving->rest).second) {
      return std::nullopt;
    }
  }
  return element;
}

/// Returns true if the store has stored the element in the iteration of the read, where the facts
/// hold.
bool has_stored(const TensorReference& read, const TensorReference& store, const Facts& facts) {
  const auto element = element_of(read, store);
  const std::span<const Stmt* const> path(store.path);
  return element && runs_for(path.subspan(shared_depth(read.path, store.path)), *element, facts);
}

}  // namespace

bool is_stored_in_iteration_of(const TensorReference& read, const TensorReference& store,
                               const Facts& facts) {
  return has_stored(read, store, facts_at(read, facts));
}

bool is_stored_in_iteration_of(const TensorReference& read,
                               std::span<const TensorReference* const> stores, const Facts& facts) {
  const Facts here = facts_at(read, facts);
  const auto stored = [&](const Facts& where) {
    return std::ranges::any_of(
        stores, [&](const TensorReference* store) { return has_stored(read, *store, where); });
  };
  if (stored(here)) return true;
  return std::ranges::any_of(stores, [&](const TensorReference* first) {
    const auto element = element_of(read, *first);
    if (!element) return false;
    const std::span<const Stmt* const> own =
        std::span(first->path).subspan(shared_depth(read.path, first->path));
    return std::ranges::any_of(own, [&](const Stmt* s) {
      const Loop* l = as_loop(*s);
      const auto at = l == nullptr ? element->end() : element->find(l->variable);
      if (at == element->end()) return false;
      const Expr left = l->end.substitute(*element) - at->second;
      if (left.has_load()) return false;
      const auto where = [&](const Expr& nonneg) {
        Facts facts_there = here;
        facts_there.assume_nonneg(nonneg);
        return facts_there;
      };
      return has_stored(read, *first, where(left - 1)) && stored(where(-left));
    });
  });
}

}  // namespace mote
