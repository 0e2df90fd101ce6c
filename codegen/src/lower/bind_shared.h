// SPDX-License-Identifier: Apache-2.0
// Keeps the values that a body under construction has already computed, and names those that are
// needed more than once.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// Holds values by (node, index, enclosing conditions). A value computed under fewer conditions can
/// be used under more, never the reverse: its reads may be out of range.
class SharedValues {
 public:
  Value find(const Uop& u, const std::vector<Expr>& index, const Conditions& guards) const;
  void add(const Uop& u, const std::vector<Expr>& index, const Conditions& guards, const Value& v);
  /// Returns the conditions under which the value may be computed; null if it is not shared.
  const Conditions* guards_of(const Value& v) const;

 private:
  struct Entry {
    std::vector<Expr> index;
    Conditions guards;
    Value value;
  };
  std::unordered_map<const UopNode*, std::vector<Entry>> entries_;  ///< a node has few, in order
  std::unordered_map<const ValueNode*, Conditions> guards_;
};

/// Puts a Let before the first statement that needs a value which the statements of this body need
/// at least twice.
Body bind_shared(Body body, const SharedValues& shared,
                 const std::function<std::string(const std::string& hint)>& fresh);

}  // namespace mote
