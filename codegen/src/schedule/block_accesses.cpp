// SPDX-License-Identifier: Apache-2.0
// Collects the tensors that statements access, as the threads of a block share them.
#include "schedule/block_accesses.h"

#include <algorithm>

#include "mote/codegen/walk.h"

namespace mote {
namespace {

bool is_shared_by_threads(const TensorDecl* t) {
  if (t == nullptr || (t->role == TensorRole::temporary && t->shape.empty())) return false;
  return t->memory != TensorMemory::local && t->memory != TensorMemory::fragments;
}

/// Returns the first indices of shared memory that are the same in the whole statement, in which
/// loops with these variables stand.
std::vector<Expr> part_of(const TensorDecl& t, const std::vector<Expr>& index,
                          const std::set<Symbol>& moving) {
  const auto moves = [&](const Expr& e) {
    return e.has_load() ||
           std::ranges::any_of(e.symbols(), [&](Symbol s) { return moving.contains(s); });
  };
  if (t.memory != TensorMemory::shared) return {};
  return {index.begin(), std::ranges::find_if(index, moves)};
}

/// Returns true if the indices are known to differ, and false if they are known to be the same:
/// they do by a constant, or as remainders of the same divisor.
std::optional<bool> differ(const Expr& a, const Expr& b) {
  if (const auto apart = (a - b).constant()) return *apart != 0;
  const Atom* x = a.as_atom();
  const Atom* y = b.as_atom();
  if (x == nullptr || y == nullptr || x->kind != Atom::Kind::mod || y->kind != Atom::Kind::mod ||
      x->args[1] != y->args[1])
    return std::nullopt;
  const auto apart = (x->args[0] - y->args[0]).constant(), divisor = x->args[1].constant();
  return apart && divisor && *divisor != 0 ? std::optional(*apart % *divisor != 0) : std::nullopt;
}

bool may_share(const AccessedPart& one, const AccessedPart& other) {
  const TensorDecl& a = *one.tensor;
  const TensorDecl& b = *other.tensor;
  if (&a == &b) {
    for (std::size_t k = 0; k < std::min(one.part.size(), other.part.size()); ++k)
      if (differ(one.part[k], other.part[k]) == true) return false;
    return true;
  }
  if (a.in_place_of == b.name || b.in_place_of == a.name) return true;
  const auto is_pair = [](TensorRole input, TensorRole output) {
    return input == TensorRole::input && output == TensorRole::output;
  };
  return (is_pair(a.role, b.role) || is_pair(b.role, a.role)) && a.dtype == b.dtype &&
         a.shape == b.shape;
}

bool meet(const std::vector<AccessedPart>& a, const std::vector<AccessedPart>& b) {
  return std::ranges::any_of(a, [&](const AccessedPart& t) {
    return std::ranges::any_of(b, [&](const AccessedPart& u) { return may_share(t, u); });
  });
}

void insert(std::vector<AccessedPart>& all, const AccessedPart& one) {
  if (std::ranges::find(all, one) == all.end()) all.push_back(one);
}

}  // namespace

void BlockAccesses::add(const BlockAccesses& other) {
  for (const AccessedPart& one : other.read) insert(read, one);
  for (const AccessedPart& one : other.stored) insert(stored, one);
}

BlockAccesses accesses_of(const LoopProgram& p, const Stmt& s) {
  std::set<Symbol> moving;
  for_each({s}, [&](const Stmt& inner) {
    if (const auto* loop = std::get_if<Loop>(&inner.kind)) {
      moving.insert(loop->variable);
      for (const LoopDigit& d : loop->digits) moving.insert(d.variable);
    }
  });
  BlockAccesses all;
  for_each_access(s, [&](const std::string& tensor, const std::vector<Expr>& index, bool is_write) {
    const TensorDecl* t = find_tensor(p, tensor);
    if (is_shared_by_threads(t))
      insert(is_write ? all.stored : all.read, {t, part_of(*t, index, moving)});
  });
  return all;
}

BlockAccesses accesses_of(const LoopProgram& p, const Conditions& conditions) {
  BlockAccesses all;
  for (const Condition& c : conditions)
    for_each_load(c.e, [&](const Atom& a) {
      const TensorDecl* t = find_tensor(p, a.tensor);
      if (is_shared_by_threads(t)) insert(all.read, {t, {}});
    });
  return all;
}

bool are_the_same(const AccessedPart& a, const AccessedPart& b) {
  return a.tensor == b.tensor &&
         std::ranges::equal(a.part, b.part,
                            [](const Expr& x, const Expr& y) { return differ(x, y) == false; });
}

bool need_barrier(const BlockAccesses& before, const BlockAccesses& after) {
  return meet(before.stored, after.read) || meet(before.stored, after.stored) ||
         meet(before.read, after.stored);
}

}  // namespace mote
