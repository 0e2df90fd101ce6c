// SPDX-License-Identifier: Apache-2.0
// What steps that divide a stage have in common: names, sizes and temporaries that they add.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote::cuda {

/// Of sizes and parameters alone.
bool is_fixed(const Expr& e);
/// Begins at 0, goes by 1, to a fixed end.
bool is_counted(const Loop& loop);
/// How many innermost rounds the loop has, where that is fixed; of a loop in it whose count isn't,
/// one.
Expr terms_of(const Loop& loop);

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

  /// A size of that value, by its name.
  Expr size(const std::string& hint, const Expr& value) {
    const auto known = std::ranges::find(source_.sizes, value, &NamedSize::value);
    if (known != source_.sizes.end()) return Expr::size(known->name);
    source_.sizes.push_back({fresh(hint), value});
    return Expr::size(source_.sizes.back().name);
  }

  std::string temporary(const std::string& hint, DType dtype, const std::vector<Expr>& shape) {
    std::string name = fresh(hint);
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
