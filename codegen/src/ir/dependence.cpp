// SPDX-License-Identifier: Apache-2.0
// Summarises the reads and writes of statements.
#include "ir/dependence.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "ir/statement_parts.h"

namespace mote {
namespace {

void add_loads(const Expr& e, const std::vector<const Stmt*>& path,
               std::vector<PlacedAccess>& out) {
  if (!e.has_load()) return;
  e.transform([&](const Atom& a) {
    if (a.kind == Atom::Kind::load) out.push_back({{a.tensor, a.args, false}, path});
    return Expr::from_atom(a);
  });
}

void collect(const Body& body, std::vector<const Stmt*>& path, std::vector<PlacedAccess>& out) {
  for (const Stmt& s : body) {
    if (const Body* nested = nested_body(s)) {
      for_each_expr(s, [&](const Expr& e) { add_loads(e, path, out); });
      path.push_back(&s);
      collect(*nested, path, out);
      path.pop_back();
    } else {
      for (Access& a : accesses(s)) out.push_back({std::move(a), path});
    }
  }
}

bool intersect(const std::set<std::string>& a, const std::set<std::string>& b) {
  if (a.size() > b.size()) return intersect(b, a);
  return std::any_of(a.begin(), a.end(), [&](const std::string& s) { return b.count(s) > 0; });
}

/// Collects the effects of one statement after another, each in one walk.
class EffectsOf {
 public:
  void add(const Stmt& s) {
    nested_.clear();
    add(s, false);
  }
  Effects take() { return std::move(e_); }

 private:
  void add(const Stmt& s, bool is_nested) {
    if (const Loop* loop = as_loop(s))
      for (const Accumulator& a : loop->accumulators) e_.declared.insert(a.name);
    for_each_own_expr(s, [&](const Expr& e) { add(e); });
    if (const Value* v = value_of(s)) add(*v);
    if (const auto* store = std::get_if<Store>(&s.kind)) write(store->tensor);
    if (const auto* reduce = std::get_if<StoreReduce>(&s.kind)) write(reduce->tensor);
    if (const auto* let = std::get_if<Let>(&s.kind)) {
      if (is_nested)
        nested_.insert(let->name);
      else
        e_.declared.insert(let->name);
    }
    if (const Body* body = nested_body(s))
      for (const Stmt& inner : *body) add(inner, true);
  }
  void add(const Value& v) {
    if (const auto* op = std::get_if<value::Op>(&v->kind)) {
      for (const Value& a : op->args) add(a);
    } else if (const auto* named = std::get_if<value::Named>(&v->kind)) {
      use(named->name);
    } else if (const auto* load = std::get_if<value::Load>(&v->kind)) {
      for (const Expr& e : load->index) add(e);
      e_.touched.insert(load->tensor);
    } else if (const auto* guard = std::get_if<value::Guard>(&v->kind)) {
      for (const Condition& c : guard->conditions) add(c.e);
      add(guard->then);
    } else if (const auto* index = std::get_if<value::Index>(&v->kind)) {
      add(index->e);
    } else if (const auto* a = std::get_if<value::Accumulated>(&v->kind)) {
      use(a->name);
    }
  }
  void add(const Expr& e) {
    for_each_load(e, [this](const Atom& a) {
      e_.touched.insert(a.tensor);
      if (a.args.empty()) use(a.tensor);
    });
  }
  void write(const std::string& tensor) {
    e_.touched.insert(tensor);
    e_.written.insert(tensor);
  }
  /// No other statement sees nested Lets.
  void use(const std::string& name) {
    if (!nested_.contains(name)) e_.used.insert(name);
  }

  Effects e_;
  std::unordered_set<std::string_view> nested_;  ///< the Lets nested in the statement so far
};

}  // namespace

const Body* nested_body(const Stmt& s) {
  if (const auto* loop = std::get_if<Loop>(&s.kind)) return &loop->body;
  if (const auto* branch = std::get_if<If>(&s.kind)) return &branch->body;
  return nullptr;
}

Body* nested_body(Stmt& s) { return const_cast<Body*>(nested_body(std::as_const(s))); }

std::vector<PlacedAccess> placed_accesses(const Body& body) {
  std::vector<PlacedAccess> out;
  std::vector<const Stmt*> path;
  collect(body, path, out);
  return out;
}

bool is_moving(const Expr& e) {
  return std::ranges::any_of(e.symbols(), [](Symbol s) { return s.kind() == SymbolKind::loop; });
}

bool are_alike(const LoopDigit& a, const LoopDigit& b) {
  return a.begin == b.begin && a.end == b.end && a.step == b.step;
}

void set_ranges(const Loop& l, Facts& facts) {
  facts.set_range(l.variable, l.begin, l.end);
  for (const LoopDigit& d : l.digits) facts.set_range(d.variable, d.begin, d.end);
}

std::vector<Expr> arms(const Expr& e, Atom::Kind kind) {
  const Atom* atom = e.as_atom();
  if (atom != nullptr && atom->kind == kind) return atom->args;
  return {e};
}

std::optional<std::int64_t> most_iterations(const Loop& l) {
  std::optional<std::int64_t> most;
  for (const Expr& end : arms(l.end, Atom::Kind::min))
    for (const Expr& begin : arms(l.begin, Atom::Kind::max))
      if (const auto count = (end - begin).constant())
        most = std::max<std::int64_t>(0, most ? std::min(*most, *count) : *count);
  return most;
}

bool has_one_iteration(const Loop& l) {
  const auto count = (l.end - l.begin).constant();
  const auto step = l.step.constant();
  return count && step && *count >= 1 && *count <= *step;
}

bool runs_once(const Loop& l) {
  return has_one_iteration(l) && l.kind == LoopKind::serial && l.accumulators.empty() &&
         l.digits.empty();
}

bool is_in_range(const LoopProgram& p, const value::Load& load, const Facts& facts,
                 const std::map<Symbol, Expr>& sizes) {
  const TensorDecl& t = *find_tensor(p, load.tensor);
  for (std::size_t axis = 0; axis < load.index.size(); ++axis) {
    const Expr& e = load.index[axis];
    if (e.has_load() || !facts.prove_nonneg(e) ||
        !facts.prove_positive(t.shape[axis].substitute(sizes) - e))
      return false;
  }
  return true;
}

bool is_in_index(const Body& body, const std::set<std::string>& names) {
  bool found = false;
  for_each(body, [&](const Stmt& s) {
    for_each_expr(s, [&](const Expr& e) {
      for_each_load(e, [&](const Atom& a) { found = found || names.contains(a.tensor); });
    });
  });
  return found;
}

std::set<std::string> tensors_written(std::span<const Stmt> body) {
  std::set<std::string> r;
  for (const Stmt& s : body)
    for_each_access(s, [&](const std::string& tensor, const std::vector<Expr>&, bool write) {
      if (write) r.insert(tensor);
    });
  return r;
}

Effects effects_of(std::span<const Stmt> body) {
  EffectsOf effects;
  for (const Stmt& s : body) effects.add(s);
  return effects.take();
}

Effects united(Effects a, Effects b) {
  const auto unite = [](std::set<std::string>& to, std::set<std::string>& from) {
    if (to.size() < from.size()) std::swap(to, from);
    to.merge(from);
  };
  unite(a.touched, b.touched);
  unite(a.written, b.written);
  unite(a.declared, b.declared);
  unite(a.used, b.used);
  return a;
}

bool are_independent(const Effects& a, const Effects& b) {
  return !intersect(a.written, b.touched) && !intersect(b.written, a.touched) &&
         !intersect(a.declared, b.used) && !intersect(b.declared, a.used);
}

std::vector<const Loop*> threads_chain(const Loop& first) {
  std::vector<const Loop*> chain = {&first};
  while (chain.back()->body.size() == 1) {
    const Loop* next = as_loop(chain.back()->body.front());
    if (next == nullptr || next->kind != first.kind) break;
    chain.push_back(next);
  }
  return chain;
}

std::vector<const Loop*> first_of_threads(const Body& body) {
  std::vector<const Loop*> first;
  for (const Stmt& s : body) {
    const Body* inner = nested_body(s);
    if (inner == nullptr) continue;
    const Loop* loop = as_loop(s);
    if (loop != nullptr && loop->kind == LoopKind::threads) {
      first.push_back(loop);
      inner = &threads_chain(*loop).back()->body;
    }
    const std::vector<const Loop*> below = first_of_threads(*inner);
    first.insert(first.end(), below.begin(), below.end());
  }
  return first;
}

void mark_threads(Loop& first, std::size_t n) {
  Loop* loop = &first;
  for (std::size_t k = 0; loop != nullptr; ++k) {
    if (k >= n && loop->kind != LoopKind::threads) return;
    loop->kind = k < n ? LoopKind::threads : LoopKind::serial;
    loop = loop->body.size() == 1 ? as_loop(loop->body.front()) : nullptr;
  }
}

bool reads_elements(const Value& v) {
  bool found = false;
  for_each_value(v, [&](const Value& part) {
    found = found || std::holds_alternative<value::Load>(part->kind);
  });
  return found;
}

std::vector<const Loop*> perfect_chain(const Loop& loop) {
  std::vector<const Loop*> chain = {&loop};
  while (chain.back()->body.size() == 1 && chain.back()->accumulators.empty()) {
    const Loop* next = as_loop(chain.back()->body.front());
    if (!next || !next->accumulators.empty()) break;
    chain.push_back(next);
  }
  return chain;
}

}  // namespace mote
