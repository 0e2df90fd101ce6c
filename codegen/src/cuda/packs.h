// SPDX-License-Identifier: Apache-2.0
// Rounds that go over elements side by side: which stages have them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote::cuda {

/// That a thread moves at once.
inline constexpr int kPackBytes = 16;

/// A stage as one loop over all its rounds, for tensors without gaps.
struct PackForm {
  LoopProgram program;              ///< `packed` are of rank 1 there, with a stride of 1
  std::vector<Expr> extents;        ///< of the stage's own loops, outermost first
  std::vector<std::string> loads;   ///< tensors of which each round reads its own element,
  std::vector<std::string> stores;  ///< of which it stores it
  int elements;                     ///< that 16 bytes hold of the widest of them

  std::vector<std::string> packed() const;
};

/// Nullopt where a round touches anything else than elements at its own place and scalars, or where
/// its loops' variables count otherwise. `stage` ends with loops that are marked parallel.
std::optional<PackForm> pack_form(const LoopProgram& p, const Body& stage);

}  // namespace mote::cuda
