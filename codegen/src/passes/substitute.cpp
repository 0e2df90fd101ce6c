// SPDX-License-Identifier: Apache-2.0
// Replaces a temporary that is written once and read at the same index, later in the same body, by
// its value: always if the value is trivial to repeat, else if it is read once and in no deeper
// loop. Names are replaced likewise.
#include <algorithm>

#include "ir/dependence.h"
#include "mote/codegen/passes.h"

namespace mote {
namespace {

bool is_trivial(const Value& v) {
  return !std::holds_alternative<value::Op>(v->kind) &&
         !std::holds_alternative<value::Guard>(v->kind);
}

/// The target of a replacement: a temporary at one index, or a name (no index).
struct Target {
  std::string name;
  std::optional<std::vector<Expr>> index;

  bool is(const Value& v) const {
    if (const auto* l = std::get_if<value::Load>(&v->kind))
      return index && l->tensor == name && l->index == *index;
    const auto* b = std::get_if<value::Named>(&v->kind);
    return b && !index && b->name == name;
  }
};

/// Returns the number of occurrences in the value written out as a tree, counted up to 2.
int occurrences(const Value& v, const Target& target, std::map<const ValueNode*, int>& memo) {
  if (target.is(v)) return 1;
  if (const auto found = memo.find(v.get()); found != memo.end()) return found->second;
  int n = 0;
  if (const auto* op = std::get_if<value::Op>(&v->kind)) {
    for (const Value& a : op->args) n += occurrences(a, target, memo);
  } else if (const auto* guard = std::get_if<value::Guard>(&v->kind)) {
    n = occurrences(guard->then, target, memo);
  }
  return memo[v.get()] = std::min(n, 2);
}

struct Readers {
  int total = 0;  ///< in the rest of the body, including deep ones
  int deep = 0;   ///< inside a loop of that body
  bool in_index = false;
};

bool index_mentions(const Stmt& s, const std::string& name) {
  bool found = false;
  for_each_expr(s, [&](const Expr& e) {
    if (!e.has_load()) return;
    e.transform([&](const Atom& a) {
      found = found || (a.kind == Atom::Kind::load && a.tensor == name);
      return Expr::from_atom(a);
    });
  });
  return found;
}

void add_readers(std::span<const Stmt> body, const Target& target, bool deep, Readers& r) {
  for (const Stmt& s : body) {
    r.in_index = r.in_index || index_mentions(s, target.name);
    if (const Body* nested = nested_body(s)) {
      add_readers(*nested, target, deep || as_loop(s), r);
      continue;
    }
    std::map<const ValueNode*, int> memo;
    int n = 0;
    if (const auto* x = std::get_if<Store>(&s.kind)) n = occurrences(x->value, target, memo);
    if (const auto* x = std::get_if<StoreReduce>(&s.kind)) n = occurrences(x->value, target, memo);
    if (const auto* x = std::get_if<Fold>(&s.kind)) n = occurrences(x->value, target, memo);
    if (const auto* x = std::get_if<Let>(&s.kind)) n = occurrences(x->value, target, memo);
    r.total += n;
    if (deep) r.deep += n;
  }
}

/// Returns true if nothing after the statement writes a tensor that the value reads.
bool inputs_stay(const Value& v, std::span<const Stmt> rest) {
  const std::set<std::string> written = tensors_written(rest);
  bool stay = true;
  for (const Access& a : accesses(Stmt{Let{"", v}})) stay = stay && !written.count(a.tensor);
  return stay;
}

void replace_in(std::span<Stmt> rest, const Target& target, const Value& by) {
  Body body(std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  rewrite_values(body, [&](const Value& v) { return target.is(v) ? by : v; });
  std::move(body.begin(), body.end(), rest.begin());
}

class Substituter {
 public:
  explicit Substituter(LoopProgram& p) : p_(p) {}

  /// Goes over the program once; returns true if anything was replaced.
  bool sweep() {
    count_reads();
    find_indices();
    return sweep(p_.body);
  }

 private:
  bool sweep(Body& body) {
    bool changed = false;
    for (std::size_t k = 0; k < body.size();) {
      if (Body* nested = nested_body(body[k])) {
        changed = sweep(*nested) || changed;
        ++k;
      } else if (replace_at(body, k)) {
        changed = true;
      } else {
        ++k;
      }
    }
    return changed;
  }

  /// Counts the reads of each name and tensor by values. Replacing never lowers the count.
  void count_reads() {
    reads_.clear();
    for_each(p_.body, [this](const Stmt& s) {
      for_each_value(s, [this](const Value& v) {
        if (const auto* l = std::get_if<value::Load>(&v->kind)) ++reads_[l->tensor];
        if (const auto* b = std::get_if<value::Named>(&v->kind)) ++reads_[b->name];
      });
    });
  }

  /// The accesses of a tensor. Replacing moves reads, with their indices, and removes a tensor.
  struct Indices {
    std::vector<Expr> first;
    int writes = 0;
    bool same = true;  ///< all are the first
  };

  void find_indices() {
    indices_.clear();
    for_each_access(p_.body,
                    [&](const std::string& tensor, const std::vector<Expr>& index, bool write) {
                      const auto [found, is_new] = indices_.try_emplace(tensor);
                      Indices& of = found->second;
                      of.writes += write;
                      if (is_new) of.first = index;
                      of.same = of.same && index == of.first;
                    });
  }

  bool is_read_too_often(const std::string& name, const Value& v) const {
    const auto found = reads_.find(name);
    return !is_trivial(v) && found != reads_.end() && found->second > 1;
  }

  bool replace_at(Body& body, std::size_t k) {
    Target target;
    Value v;
    if (const auto* let = std::get_if<Let>(&body[k].kind)) {
      if (is_read_too_often(let->name, let->value)) return false;
      target = {let->name, std::nullopt};
      v = let->value;
    } else if (const auto* store = std::get_if<Store>(&body[k].kind)) {
      if (is_read_too_often(store->tensor, store->value) || !is_sole_access_index(*store))
        return false;
      target = {store->tensor, store->index};
      v = store->value;
    } else {
      return false;
    }
    const std::span<Stmt> rest(body.data() + k + 1, body.size() - k - 1);
    Readers readers;
    add_readers(rest, target, false, readers);
    if (readers.in_index || readers.total == 0 || !inputs_stay(v, rest)) return false;
    if (!is_trivial(v) && (readers.total != 1 || readers.deep > 0)) return false;
    if (target.index && readers.total != reads_in_program(target)) return false;
    replace_in(rest, target, v);
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(k));
    std::erase_if(p_.tensors, [&](const TensorDecl& t) { return t.name == target.name; });
    return true;
  }

  /// Returns true if the tensor is a temporary, this is its only store, and every read of it has
  /// this index.
  bool is_sole_access_index(const Store& store) const {
    const TensorDecl* t = find_tensor(p_, store.tensor);
    if (!t || t->role != TensorRole::temporary) return false;
    const Indices& of = indices_.at(store.tensor);
    return of.writes == 1 && of.same;
  }

  int reads_in_program(const Target& target) const {
    Readers r;
    add_readers(p_.body, target, false, r);
    return r.total;
  }

  LoopProgram& p_;
  std::map<std::string, int> reads_;
  std::map<std::string, Indices> indices_;
};

void erase_names(Body& body, const std::map<std::string, Value>& names) {
  for (Stmt& s : body)
    if (Body* nested = nested_body(s)) erase_names(*nested, names);
  std::erase_if(body, [&](const Stmt& s) {
    const auto* let = std::get_if<Let>(&s.kind);
    return let && names.count(let->name) > 0;
  });
}

/// Returns true if the name's value is trivial and loads nothing that may change.
bool is_constant_name(const Let& let) {
  if (!is_trivial(let.value) || std::holds_alternative<value::Load>(let.value->kind)) return false;
  const auto* i = std::get_if<value::Index>(&let.value->kind);
  return !i || !i->e.has_load();
}

/// Replaces all names of such values at once; those that an index reads stay.
void replace_constant_names(LoopProgram& p) {
  std::map<std::string, Value> values;
  std::set<std::string> in_index;
  std::set<std::string> read;
  for_each(p.body, [&](const Stmt& s) {
    for_each_expr(s, [&](const Expr& e) {
      for_each_load(e, [&](const Atom& a) { in_index.insert(a.tensor); });
    });
    for_each_value(s, [&](const Value& v) {
      if (const auto* b = std::get_if<value::Named>(&v->kind)) read.insert(b->name);
    });
  });
  for_each(p.body, [&](const Stmt& s) {
    const auto* let = std::get_if<Let>(&s.kind);
    if (!let || !is_constant_name(*let) || !read.count(let->name) || in_index.count(let->name))
      return;
    const auto* other = std::get_if<value::Named>(&let->value->kind);
    const auto known = other ? values.find(other->name) : values.end();
    values[let->name] = known == values.end() ? let->value : known->second;
  });
  if (values.empty()) return;
  rewrite_values(p.body, [&](const Value& v) {
    const auto* b = std::get_if<value::Named>(&v->kind);
    const auto found = b ? values.find(b->name) : values.end();
    return found == values.end() ? v : found->second;
  });
  erase_names(p.body, values);
}

}  // namespace

LoopProgram substitute(LoopProgram p) {
  replace_constant_names(p);
  Substituter s(p);
  while (s.sweep()) {
  }
  return p;
}

}  // namespace mote
