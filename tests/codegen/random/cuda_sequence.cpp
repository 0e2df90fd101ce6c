// SPDX-License-Identifier: Apache-2.0
// In: the kernels of a program; out: their loops in one program, each kernel's own names with the
// number of its stage behind them.
#include "cuda_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "mote/codegen/walk.h"

namespace mote::test {
namespace {

/// Adds the sizes and tensors of a kernel; returns false if it has another size of the same name.
bool add_declarations(LoopProgram& all, const LoopProgram& kernel) {
  Program source = *all.source;
  for (const NamedSize& size : kernel.source->sizes) {
    const auto known = std::ranges::find(source.sizes, size.name, &NamedSize::name);
    if (known == source.sizes.end())
      source.sizes.push_back(size);
    else if (known->value != size.value)
      return false;
  }
  all.source = std::make_shared<const Program>(std::move(source));
  for (const TensorDecl& t : kernel.tensors)
    if (find_tensor(all, t.name) == nullptr) all.tensors.push_back(t);
  all.strides.insert(all.strides.end(), kernel.strides.begin(), kernel.strides.end());
  return true;
}

/// Renames what a kernel has for itself: the variables of its loops, and the memory of its blocks.
class OwnNames {
 public:
  OwnNames(LoopProgram& kernel, std::string suffix) : kernel_(kernel), suffix_(std::move(suffix)) {}

  void rename() {
    for_each(kernel_.body, [&](const Stmt& s) {
      const auto* loop = std::get_if<Loop>(&s.kind);
      if (loop == nullptr) return;
      add(loop->variable);
      for (const LoopDigit& d : loop->digits) add(d.variable);
    });
    for (const TensorDecl& t : kernel_.tensors)
      if (is_of_block(t.memory)) tensors_.emplace(t.name, t.name + suffix_);
    substitute(kernel_.body, {variables_.begin(), variables_.end()});
    rewrite_exprs(kernel_.body, [&](const Expr& e) { return e.has_load() ? with_loads(e) : e; });
    rewrite_values(kernel_.body, [&](const Value& v) {
      const auto* load = std::get_if<value::Load>(&v->kind);
      return load != nullptr ? load_value(named(load->tensor), load->index, v->dtype) : v;
    });
    statements(kernel_.body);
    for (TensorDecl& t : kernel_.tensors) declaration(t);
  }

 private:
  void add(Symbol variable) {
    variables_.emplace(variable, Symbol(SymbolKind::loop, variable.name() + suffix_));
  }

  const std::string& named(const std::string& tensor) const {
    const auto found = tensors_.find(tensor);
    return found == tensors_.end() ? tensor : found->second;
  }

  Expr with_loads(const Expr& e) const {
    return e.transform([&](Atom a) {
      if (a.kind == Atom::Kind::load) a.tensor = named(a.tensor);
      return rebuild(a);
    });
  }

  void statements(Body& body) const {
    for (Stmt& s : body) {
      if (auto* store = std::get_if<Store>(&s.kind)) store->tensor = named(store->tensor);
      if (auto* reduce = std::get_if<StoreReduce>(&s.kind)) reduce->tensor = named(reduce->tensor);
      if (auto* branch = std::get_if<If>(&s.kind)) statements(branch->body);
      auto* loop = std::get_if<Loop>(&s.kind);
      if (loop == nullptr) continue;
      loop->variable = variables_.at(loop->variable);
      for (LoopDigit& d : loop->digits) d.variable = variables_.at(d.variable);
      statements(loop->body);
    }
  }

  void declaration(TensorDecl& t) const {
    if (t.per && variables_.contains(*t.per)) t.per = variables_.at(*t.per);
    t.name = named(t.name);
    t.in_place_of = named(t.in_place_of);
  }

  LoopProgram& kernel_;
  std::string suffix_;
  std::map<Symbol, Symbol> variables_;
  std::map<std::string, std::string> tensors_;
};

}  // namespace

std::optional<LoopProgram> in_sequence(const CudaProgram& program) {
  LoopProgram all = program.kernels.front().loops();
  all.body.clear();
  all.strides.clear();
  std::erase_if(all.tensors, [](const TensorDecl& t) { return t.role == TensorRole::temporary; });
  int stage = 0;
  for (const CudaKernel& k : program.kernels) {
    if (std::exchange(stage, k.stage) == k.stage) continue;
    if (k.per_vector() != nullptr && k.per_vector()->extents.size() > 1) return std::nullopt;
    LoopProgram kernel = k.loops();
    OwnNames(kernel, fmt::format("_of_{}", stage)).rename();
    if (!add_declarations(all, kernel)) return std::nullopt;
    // Each kernel binds the names that it reads: they end with its branch.
    all.body.push_back({If{{}, std::move(kernel.body)}});
  }
  return all;
}

}  // namespace mote::test
