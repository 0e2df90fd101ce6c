// SPDX-License-Identifier: Apache-2.0
// Adds names, sizes and temporaries for the steps that divide a stage.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mote/codegen/loops.h"
#include "passes/conditions.h"

namespace mote::cuda {

/// Returns true if the loop begins at 0, has step 1, and goes to a fixed end.
bool is_counted(const Loop& loop);
/// Returns the number of innermost iterations of the loop; a loop whose count is not fixed counts
/// as one iteration.
Expr terms_of(const Loop& loop);

/// Returns the body with other statements in place of those at top level and in branches there:
/// `replace` gets each that is no branch, and appends what stands in its place.
Body replaced(const Body& body, const std::function<void(const Stmt&, Body&)>& replace);

/// A program whose statements are replaced, with new temporaries and named sizes.
class Rewriting {
 public:
  explicit Rewriting(const LoopProgram& p) : names_(p), out_(p), source_(*p.source) {}

  std::string fresh(const std::string& hint) {
    std::string name = fresh_name(names_, hint);
    names_.tensors.push_back({name, TensorRole::temporary, DType::f32, {}, {}});
    return name;
  }
  Symbol variable(const std::string& hint) { return {SymbolKind::loop, fresh(hint)}; }

  /// Returns a size of that value, by its name. The values of a program's sizes mention no names of
  /// others.
  Expr size(const std::string& hint, const Expr& of) {
    std::map<Symbol, Expr> named;
    for (const NamedSize& s : source_.sizes)
      named.emplace(Symbol(SymbolKind::size, s.name), s.value);
    const Expr value = of.substitute(named);
    const auto known = std::ranges::find(source_.sizes, value, &NamedSize::value);
    if (known != source_.sizes.end()) return Expr::size(known->name);
    source_.sizes.push_back({fresh(hint), value});
    return Expr::size(source_.sizes.back().name);
  }

  /// A loop over N - 2 iterations has none where N is 1: neither has the array an element then.
  std::string temporary(const std::string& hint, DType dtype, std::vector<Expr> shape) {
    std::string name = fresh(hint);
    Facts facts = base_facts(source_);
    for (const TensorDecl& t : out_.tensors)
      if (t.role != TensorRole::temporary)
        for (const Expr& extent : t.shape) facts.assume_nonneg(extent);
    for (Expr& extent : shape)
      if (!facts.prove_nonneg(extent)) extent = max(0, extent);
    out_.tensors.push_back(
        {name, TensorRole::temporary, dtype, shape, std::vector<std::string>(shape.size())});
    return name;
  }

  LoopProgram with(Body body) && {
    out_.body = std::move(body);
    out_.source = std::make_shared<const Program>(std::move(source_));
    return std::move(out_);
  }

 private:
  LoopProgram names_;  ///< holds all names that are taken
  LoopProgram out_;
  Program source_;
};

}  // namespace mote::cuda
