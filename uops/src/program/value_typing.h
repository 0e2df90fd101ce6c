// SPDX-License-Identifier: Apache-2.0
// Determines dtypes of literals and parameters in program text: untyped values wait for a tensor.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "program/program_cursor.h"

namespace mote {

/// The positions of nodes in the text. It keeps the nodes, so that an address always belongs to the
/// same node.
class Positions {
 public:
  /// Notes the position of u, and of the nodes below it that have none, which builders make.
  void note(const Uop& u, std::size_t at);
  std::optional<std::size_t> find(const UopNode* node) const;

 private:
  struct Location {
    Uop u;
    std::size_t at;
  };
  std::unordered_map<const UopNode*, Location> locations_;
};

inline constexpr int kMaxValueNesting = 400;  ///< more than a printed line can hold

/// A node, or a function that makes one once its dtype is known.
struct Value {
  Uop uop;
  std::function<Uop(DType)> untyped;
  int depth = 0;  ///< nesting of untyped values
};

/// Makes nodes; errors give the position, and the positions of the nodes are noted.
class Typing {
 public:
  Typing(const ProgramCursor& text, Positions& positions) : text_(text), positions_(positions) {}

  template <typename F>
  Uop build(std::size_t at, const F& f) const {
    const Uop u = text_.build(at, f);
    positions_.note(u, at);
    return u;
  }

  /// Returns the node; throws Error if its dtype is not known.
  Uop typed(std::size_t at, const Value& v) const;
  Uop typed(std::size_t at, const Value& v, DType dtype) const;
  /// Makes Map(op): untyped arguments take the dtype of those that have one; without any, the
  /// result stays untyped too.
  Value combine(MapOp op, std::size_t at, std::vector<Value> args) const;
  Value number(std::size_t at, Literal n) const;
  Value boolean(std::size_t at, bool value) const;

 private:
  const ProgramCursor& text_;
  Positions& positions_;
};

}  // namespace mote
