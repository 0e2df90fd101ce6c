// SPDX-License-Identifier: Apache-2.0
// Merges two buffers into one: a temporary (the guest) moves into a later temporary, or into an
// output (the host), whose element it leaves before the host's is stored.
//
// The host is stored by one statement, element for element, and every access to the guest comes
// before it: in an earlier statement of the iteration (of the innermost body that holds the guest's
// accesses and that store), or earlier in the iteration of the store's own loops, then at exactly
// that element. Each loop around the store within the iteration must run over an axis of the
// element: another loop would find the guest overwritten from its second iteration on. The guest
// carries no value from one iteration to the next. The host's elements of one iteration are its
// own, or the host's store rewrites the elements that the guest wrote before anything reads them.
//
// A store of the host that only copied the guest is removed afterwards: so a scatter's sums are in
// the output from the start.
//
// No rounding may be added: temporaries are kept in double or int64, so dtypes must match and an
// output that hosts is f64 or i64. An output may share its memory with an input in an in-place
// call, and the guest would be written before the last read of that input: so an output that has
// the dtype and the number of elements of some input is never a host. Loop programs do not say
// which pairs of tensors may share memory. A call may leave out one of several outputs: such an
// output hosts only temporaries that its own stores alone read.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "ir/dependence.h"
#include "ir/references.h"
#include "mote/codegen/passes.h"

namespace mote {
namespace {

/// A candidate: the guest's accesses, the host's accesses, the host's only store, and the position
/// of that store.
struct Pair {
  const TensorDecl& guest;
  const TensorDecl& host;
  std::vector<TensorReference>& of_guest;
  const std::vector<TensorReference>& of_host;
  const TensorReference* store = nullptr;  ///< in of_host
  std::size_t depth = 0;                   ///< depth of the iteration on the store's path
  std::vector<Expr> outer = {};  ///< the host's leading index, the same for a whole iteration
  std::vector<Expr> inner = {};  ///< the rest, which is the guest's element

  std::span<const Stmt* const> shared_path() const { return std::span(store->path).first(depth); }
  std::span<const Stmt* const> own_path() const { return std::span(store->path).subspan(depth); }
  bool is_in_iteration(const TensorReference& r) const {
    return shared_depth(r.path, store->path) >= depth;
  }
  /// Returns true if r stands in the same statement of the iteration's body as the store.
  bool is_by_store(const TensorReference& r) const {
    return shared_depth(r.path, store->path) > depth;
  }
};

Expr element_count(const TensorDecl& t) {
  Expr n(1);
  for (const Expr& e : t.shape) n = n * e;
  return n;
}

bool may_alias_input(const LoopProgram& p, const TensorDecl& output) {
  return std::any_of(p.tensors.begin(), p.tensors.end(), [&](const TensorDecl& t) {
    return t.role == TensorRole::input && t.dtype == output.dtype &&
           element_count(t) == element_count(output);
  });
}

/// Returns true if the declarations of both allow it, before their accesses are considered.
bool may_host(const LoopProgram& p, const TensorDecl& host, const TensorDecl& guest) {
  if (&host == &guest || host.dtype != guest.dtype || host.role == TensorRole::input) return false;
  if (host.role == TensorRole::output &&
      ((host.dtype != DType::f64 && host.dtype != DType::i64) || may_alias_input(p, host)))
    return false;
  const std::size_t rank = guest.shape.size();
  return host.shape.size() >= rank &&
         std::equal(guest.shape.rbegin(), guest.shape.rend(), host.shape.rbegin());
}

/// Returns the host's only write, if it is a store; else null.
const TensorReference* sole_store(const std::vector<TensorReference>& all) {
  const TensorReference* store = nullptr;
  for (const TensorReference& r : all) {
    if (!r.is_write()) continue;
    if (r.kind != TensorReference::Kind::store || store) return nullptr;
    store = &r;
  }
  return store;
}

/// Finds the iteration and the two parts of the store's index; returns false if the guest's element
/// does not follow the store's own loops one to one.
bool place(Pair& pair) {
  pair.store = sole_store(pair.of_host);
  if (!pair.store || pair.of_guest.empty()) return false;
  const auto& path = pair.store->path;
  pair.depth = path.size();
  for (const TensorReference& r : pair.of_guest)
    pair.depth = std::min(pair.depth, shared_depth(r.path, path));
  const auto split = pair.store->index.end() - static_cast<std::ptrdiff_t>(pair.guest.shape.size());
  pair.outer.assign(pair.store->index.begin(), split);
  pair.inner.assign(split, pair.store->index.end());

  const auto elements = plain_variables(pair.inner);
  if (!elements) return false;
  const std::set<Symbol> own = variables_of(pair.own_path());
  if (own != std::set<Symbol>(elements->begin(), elements->end())) return false;
  const std::set<Symbol> shared = variables_of(pair.shared_path());
  return std::all_of(pair.outer.begin(), pair.outer.end(), [&](const Expr& e) {
    return !e.has_load() && std::all_of(e.symbols().begin(), e.symbols().end(), [&](Symbol s) {
      return s.kind() != SymbolKind::loop || shared.count(s) > 0;
    });
  });
}

/// Returns true if every access to the guest comes before the store of that element, and none is in
/// an index.
bool guest_leaves_in_time(const Pair& pair) {
  return std::all_of(pair.of_guest.begin(), pair.of_guest.end(), [&](const TensorReference& r) {
    return r.kind != TensorReference::Kind::index_load && precedes(r, *pair.store) &&
           (!pair.is_by_store(r) || r.index == pair.inner);
  });
}

/// Returns true if the guest reads in an iteration only values that it got in that iteration.
bool guest_carries_nothing(Pair& pair, const Facts& facts) {
  if (variables_of(pair.shared_path()).empty()) return true;
  auto& all = pair.of_guest;
  return std::all_of(all.begin(), all.end(), [&](TensorReference& read) {
    if (read.kind == TensorReference::Kind::store || read.is_stored_in_iteration) return true;
    read.is_stored_in_iteration =
        std::any_of(all.rbegin(), all.rend(), [&](const TensorReference& w) {  // the last first
          return is_stored_in_iteration_of(read, w, facts);
        });
    return read.is_stored_in_iteration;
  });
}

/// Returns true if different iterations store different elements.
bool iterations_are_apart(const Pair& pair) {
  const std::set<Symbol> shared = variables_of(pair.shared_path());
  return std::all_of(shared.begin(), shared.end(), [&](Symbol v) {
    return std::find(pair.outer.begin(), pair.outer.end(), Expr(v)) != pair.outer.end();
  });
}

/// Returns true if the host has the guest's elements wherever the guest is accessed: its store may
/// stand under conditions that the guest does not have.
bool host_has_room(const Pair& pair, const Facts& facts) {
  if (pair.outer.empty()) return true;
  return std::all_of(pair.of_guest.begin(), pair.of_guest.end(), [&](const TensorReference& r) {
    const Facts here = facts_at(r, facts);
    for (std::size_t k = 0; k < pair.outer.size(); ++k)
      if (!here.prove_nonneg(pair.outer[k]) ||
          !here.prove_positive(pair.host.shape[k] - pair.outer[k]))
        return false;
    return true;
  });
}

/// Returns true if the host's store runs, in the same iteration, for each element that the guest
/// writes, and the host is read in the iteration only after that.
bool host_is_rewritten(const Pair& pair, const Facts& facts) {
  for (const TensorReference& w : pair.of_guest) {
    if (!w.is_write()) continue;
    std::map<Symbol, Expr> element;
    for (std::size_t k = 0; k < pair.inner.size(); ++k) {
      if (w.index[k].has_load()) return false;
      element.emplace(*pair.inner[k].as_symbol(), w.index[k]);
    }
    if (!runs_for(pair.own_path(), element, facts_at(w, facts))) return false;
  }
  return std::all_of(pair.of_host.begin(), pair.of_host.end(), [&](const TensorReference& r) {
    if (r.is_write() || !pair.is_in_iteration(r)) return true;
    return precedes(*pair.store, r) && (!pair.is_by_store(r) || r.index == pair.store->index);
  });
}

/// Returns true if only the host's store, or the guest's own stores, read the guest.
bool serves_host_alone(const Pair& pair) {
  return std::all_of(pair.of_guest.begin(), pair.of_guest.end(), [&](const TensorReference& r) {
    return r.is_write() || r.order == pair.store->order ||
           std::any_of(pair.of_guest.begin(), pair.of_guest.end(), [&](const TensorReference& w) {
             return w.is_write() && w.order == r.order;
           });
  });
}

using References = std::map<std::string, std::vector<TensorReference>>;

std::optional<Pair> shareable(const LoopProgram& p, const TensorDecl& guest, const TensorDecl& host,
                              References& touches, const Facts& facts) {
  if (!may_host(p, host, guest)) return std::nullopt;
  Pair pair{guest, host, touches[guest.name], touches[host.name]};
  if (!place(pair) || !guest_leaves_in_time(pair) || !guest_carries_nothing(pair, facts) ||
      !host_has_room(pair, facts))
    return std::nullopt;
  const bool is_one_of_several = host.role == TensorRole::output && p.source->outputs.size() > 1;
  if (is_one_of_several && !serves_host_alone(pair)) return std::nullopt;
  if (!iterations_are_apart(pair) && !host_is_rewritten(pair, facts)) return std::nullopt;
  return pair;
}

/// The guests that have moved, and where to. Their references in the text change once, after the
/// last move or before copies are erased: a chain of guests ends in one buffer.
class Moves {
 public:
  void add(const std::string& guest, const std::string& host, const std::vector<Expr>& outer) {
    moves_.emplace(guest, Move{host, outer});
  }

  /// Changes an element of a guest to the one of its last host.
  void follow(std::string& tensor, std::vector<Expr>& index) const {
    for (auto at = moves_.find(tensor); at != moves_.end(); at = moves_.find(tensor)) {
      index.insert(index.begin(), at->second.outer.begin(), at->second.outer.end());
      tensor = at->second.host;
    }
  }

  /// Returns true for host[i] = host[i], which remains where the guest was copied.
  bool is_copy_of_itself(const Stmt& s) const {
    const auto* store = std::get_if<Store>(&s.kind);
    const auto* load = store ? std::get_if<value::Load>(&store->value->kind) : nullptr;
    if (!load) return false;
    std::pair to{store->tensor, store->index}, from{load->tensor, load->index};
    follow(to.first, to.second);
    follow(from.first, from.second);
    return to == from;
  }

  /// Changes the text, and erases copies.
  void apply(Body& body) {
    if (moves_.empty()) return;
    erase_copies(body);
    rewrite_values(body, [this](const Value& v) {
      const auto* l = std::get_if<value::Load>(&v->kind);
      if (!l || !moves_.contains(l->tensor)) return v;
      value::Load moved = *l;
      follow(moved.tensor, moved.index);
      return load_value(moved.tensor, std::move(moved.index), v->dtype);
    });
    move_stores(body);
    moves_.clear();
  }

 private:
  void erase_copies(Body& body) const {
    for (Stmt& s : body)
      if (Body* nested = nested_body(s)) erase_copies(*nested);
    std::erase_if(body, [this](const Stmt& s) { return is_copy_of_itself(s); });
  }
  void move_stores(Body& body) const {
    for (Stmt& s : body) {
      if (Body* nested = nested_body(s)) move_stores(*nested);
      if (auto* store = std::get_if<Store>(&s.kind)) follow(store->tensor, store->index);
      if (auto* reduce = std::get_if<StoreReduce>(&s.kind)) follow(reduce->tensor, reduce->index);
    }
  }

  struct Move {
    std::string host;
    std::vector<Expr> outer;
  };
  std::map<std::string, Move> moves_;  ///< by guest
};

/// Moves the guest into the host's storage, and its references to the host's. Returns true if
/// statements have moved.
bool move_in(LoopProgram& p, const std::string& guest, const std::string& host,
             const std::vector<Expr>& outer, References& touches, Moves& moves) {
  moves.add(guest, host, outer);
  std::erase_if(p.tensors, [&](const TensorDecl& t) { return t.name == guest; });
  const auto is_copy = [&](const TensorReference& r) {
    return moves.is_copy_of_itself(*r.statement);
  };
  if (std::ranges::any_of(touches[guest], is_copy)) {
    moves.apply(p.body);
    touches = references_by_tensor(p.body);
    return true;
  }
  auto moved = touches.extract(guest);
  for (TensorReference& r : moved.mapped()) {
    r.tensor = host;
    r.index.insert(r.index.begin(), outer.begin(), outer.end());
    r.is_stored_in_iteration = r.is_stored_in_iteration && outer.empty();
    touches[host].push_back(std::move(r));
  }
  std::ranges::stable_sort(touches[host], precedes);
  return false;
}

/// The pairs of a guest and a host that do not go together, as long as neither gets references.
using Misfits = std::set<std::pair<std::string, std::string>>;

/// Moves the first guest that finds a host: temporaries are tried first, in their order, so that a
/// chain of them ends in one buffer.
bool coalesce_one(LoopProgram& p, References& touches, Moves& moves, Misfits& misfits,
                  const Facts& facts) {
  for (const TensorDecl& guest : p.tensors) {
    if (guest.role != TensorRole::temporary || guest.shape.empty()) continue;
    for (const TensorRole role : {TensorRole::temporary, TensorRole::output}) {
      for (const TensorDecl& host : p.tensors) {
        if (host.role != role) continue;
        if (misfits.contains({guest.name, host.name})) continue;
        const auto pair = shareable(p, guest, host, touches, facts);
        if (!pair) {
          misfits.insert({guest.name, host.name});
          continue;
        }
        const std::string from = guest.name;
        const std::string to = host.name;
        const std::vector<Expr> outer = pair->outer;
        const bool moved = move_in(p, from, to, outer, touches, moves);
        std::erase_if(
            misfits, [&](const auto& one) { return moved || one.first == to || one.second == to; });
        return true;
      }
    }
  }
  return false;
}

}  // namespace

LoopProgram coalesce(LoopProgram p) {
  const Facts facts = base_facts(*p.source);
  References touches = references_by_tensor(p.body);
  Moves moves;
  Misfits misfits;
  bool changed = false;
  while (coalesce_one(p, touches, moves, misfits, facts)) changed = true;
  moves.apply(p.body);
  return changed ? eliminate_dead_code(std::move(p)) : p;
}

}  // namespace mote
