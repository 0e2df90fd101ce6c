// SPDX-License-Identifier: Apache-2.0
// Removes everything that no output needs: stores to temporaries that are not read, accumulators
// and names likewise, loops and conditions whose bodies became empty, unused declarations.
#include "ir/dependence.h"
#include "mote/codegen/passes.h"

namespace mote {
namespace {

struct Needed {
  std::set<std::string> tensors;  ///< read
  std::set<std::string> accumulators;
  std::set<std::string> names;
};

Needed needed_by(const LoopProgram& p) {
  Needed n;
  for_each_access(p.body, [&](const std::string& tensor, const std::vector<Expr>&, bool write) {
    if (!write) n.tensors.insert(tensor);
  });
  for (const TensorDecl& t : p.tensors)
    if (t.role == TensorRole::output) n.tensors.insert(t.name);
  n.accumulators = accumulators_read(p.body);
  n.names = names_read(p.body);
  return n;
}

bool is_dead(const Stmt& s, const Needed& n) {
  if (const auto* x = std::get_if<Store>(&s.kind)) return !n.tensors.count(x->tensor);
  if (const auto* x = std::get_if<StoreReduce>(&s.kind)) return !n.tensors.count(x->tensor);
  if (const auto* x = std::get_if<Fold>(&s.kind)) return !n.accumulators.count(x->accumulator);
  if (const auto* x = std::get_if<Let>(&s.kind)) return !n.names.count(x->name);
  return nested_body(s)->empty();
}

bool remove_dead(Body& body, const Needed& n) {
  bool changed = false;
  for (Stmt& s : body) {
    if (Body* nested = nested_body(s)) changed = remove_dead(*nested, n) || changed;
    if (Loop* loop = as_loop(s))
      changed =
          std::erase_if(loop->accumulators,
                        [&](const Accumulator& a) { return !n.accumulators.count(a.name); }) > 0 ||
          changed;
  }
  return std::erase_if(body, [&](const Stmt& s) { return is_dead(s, n); }) > 0 || changed;
}

}  // namespace

LoopProgram eliminate_dead_code(LoopProgram p) {
  while (remove_dead(p.body, needed_by(p))) {
  }
  std::set<std::string> touched;
  for_each_access(p.body, [&](const std::string& tensor, const std::vector<Expr>&, bool) {
    touched.insert(tensor);
  });
  std::erase_if(p.tensors, [&](const TensorDecl& t) {
    return t.role == TensorRole::temporary && !touched.count(t.name);
  });
  return p;
}

}  // namespace mote
