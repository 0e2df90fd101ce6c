// SPDX-License-Identifier: Apache-2.0
// The tensors that several threads of a block access, and when a barrier must stand between.
#pragma once

#include <set>

#include "mote/codegen/loops.h"

namespace mote {

/// Tensors in memory; a scalar is none, since each thread has it for itself.
struct BlockAccesses {
  std::set<const TensorDecl*> read, stored;

  void add(const BlockAccesses& other);
};

BlockAccesses accesses_of(const LoopProgram& p, const Stmt& s);
BlockAccesses accesses_of(const LoopProgram& p, const Conditions& conditions);

/// Returns true if one of them stores what the other accesses. An input may share its memory with
/// an output of the same shape and dtype.
bool need_barrier(const BlockAccesses& before, const BlockAccesses& after);

}  // namespace mote
