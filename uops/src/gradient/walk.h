// SPDX-License-Identifier: Apache-2.0
// The reverse walk over the nodes of a program.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "gradient/rules.h"

namespace mote {

/// The forward program's values as the gradient reads them: outputs that are given are inputs.
class Primal {
 public:
  /// `nodes`, operands first; `given`: node -> the input that holds its value.
  Primal(const std::vector<Uop>& nodes, const std::unordered_map<const UopNode*, Uop>& given);
  const Uop& of(const Uop& u) const { return values_.at(u.id()); }

 private:
  Uop recomputed(const Uop& u) const;
  bool usable(const Uop& u) const;
  bool stored_exactly(const Uop& u) const;

  std::unordered_map<const UopNode*, Uop> values_;
  std::unordered_set<const UopNode*> exact_;  ///< nodes that a store to their dtype keeps exactly
};

/// Computes the gradients of inputs (result) from those of some nodes (seed).
class Walk {
 public:
  /// `nodes`, operands first; `wrt`: the inputs whose gradients are wanted.
  Walk(const std::vector<Uop>& nodes, const std::unordered_set<const UopNode*>& wrt,
       const Primal& primal, AtKinks at_kinks);
  void seed(const Uop& u, const Uop& g) { contribute(u, {g, {}}); }
  void run();
  /// Returns zeros if there was no contribution.
  Uop result(const Uop& input) const;

 private:
  void contribute(const Uop& u, Adjoint term);

  const std::vector<Uop>& nodes_;
  const Primal& primal_;
  const AtKinks at_kinks_;
  std::unordered_set<const UopNode*> active_;  ///< nodes that depend on a wanted input
  std::unordered_map<const UopNode*, std::vector<Adjoint>> terms_;
};

}  // namespace mote
