// SPDX-License-Identifier: Apache-2.0
// Collects the tensors that statements access, as the threads of a block share them.
#include "schedule/block_accesses.h"

#include <algorithm>

#include "mote/codegen/walk.h"

namespace mote {
namespace {

void add(const LoopProgram& p, const std::string& tensor, bool is_write, BlockAccesses& all) {
  const TensorDecl* t = find_tensor(p, tensor);
  if (t == nullptr || (t->role == TensorRole::temporary && t->shape.empty())) return;
  (is_write ? all.stored : all.read).insert(t);
}

bool may_share(const TensorDecl& a, const TensorDecl& b) {
  if (&a == &b) return true;
  const auto is_pair = [](TensorRole one, TensorRole other) {
    return one == TensorRole::input && other == TensorRole::output;
  };
  return (is_pair(a.role, b.role) || is_pair(b.role, a.role)) && a.dtype == b.dtype &&
         a.shape == b.shape;
}

bool meet(const std::set<const TensorDecl*>& a, const std::set<const TensorDecl*>& b) {
  return std::ranges::any_of(a, [&](const TensorDecl* t) {
    return std::ranges::any_of(b, [&](const TensorDecl* u) { return may_share(*t, *u); });
  });
}

}  // namespace

void BlockAccesses::add(const BlockAccesses& other) {
  read.insert(other.read.begin(), other.read.end());
  stored.insert(other.stored.begin(), other.stored.end());
}

BlockAccesses accesses_of(const LoopProgram& p, const Stmt& s) {
  BlockAccesses all;
  for_each_access(s, [&](const std::string& tensor, const std::vector<Expr>&, bool is_write) {
    add(p, tensor, is_write, all);
  });
  return all;
}

BlockAccesses accesses_of(const LoopProgram& p, const Conditions& conditions) {
  BlockAccesses all;
  for (const Condition& c : conditions)
    for_each_load(c.e, [&](const Atom& a) { add(p, a.tensor, false, all); });
  return all;
}

bool need_barrier(const BlockAccesses& before, const BlockAccesses& after) {
  return meet(before.stored, after.read) || meet(before.stored, after.stored) ||
         meet(before.read, after.stored);
}

}  // namespace mote
