// SPDX-License-Identifier: Apache-2.0
// The tensors that several threads of a block access, and when a barrier must stand between.
#pragma once

#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// A tensor of which threads access elements. Shared memory may have parts along its first axes,
/// such as a slice of an operand; the others are accessed at any index.
struct AccessedPart {
  const TensorDecl* tensor;
  std::vector<Expr> part;
  friend bool operator==(const AccessedPart&, const AccessedPart&) = default;
};

/// Tensors in memory; a scalar is none, since each thread has it for itself.
struct BlockAccesses {
  std::vector<AccessedPart> read, stored;

  void add(const BlockAccesses& other);
  friend bool operator==(const BlockAccesses&, const BlockAccesses&) = default;
};

/// Returns true if both are known to be the same part.
bool are_the_same(const AccessedPart& a, const AccessedPart& b);

BlockAccesses accesses_of(const LoopProgram& p, const Stmt& s);
BlockAccesses accesses_of(const LoopProgram& p, const Conditions& conditions);

/// Returns true if one of them stores what the other accesses. An input may share its memory with
/// an output of the same shape and dtype.
bool need_barrier(const BlockAccesses& before, const BlockAccesses& after);

}  // namespace mote
