// SPDX-License-Identifier: Apache-2.0
// The tensors of a call at the canonical ranks of its op, by the rules of run(): leading axes as a
// batch, NumPy's broadcasting, the command's axis. A program of the op takes these shapes.
#pragma once

#include <span>
#include <vector>

#include "mote/base/export.h"
#include "mote/runtime/command.h"
#include "mote/runtime/tensor_form.h"

namespace MOTE_API mote {

/// The axis of CanonicalForm::axes that the tensor does not have.
inline constexpr int kRepeated = -1;

/// A tensor of a call on its way to the op's canonical rank: repeated to `whole`, then reshaped, in
/// row-major order, to `merged`.
struct CanonicalForm {
  /// The tensor's shape, with the axes that it lacks, and those of extent 1 that repeat, at the
  /// extents of the other tensors. Axes that are merged with no other keep their extent.
  AxisList whole;
  std::vector<int> axes;  ///< for each axis of `whole`, the tensor's own, or kRepeated
  AxisList merged;        ///< one extent for each canonical axis
};

struct CanonicalCall {
  std::vector<CanonicalForm> inputs;  ///< empty for a tensor that is left out
  std::vector<CanonicalForm> outputs;
};

/// Null stands for a tensor that is left out; one output at least is present. Throws StatusError
/// "softmax: …" for ranks and extents that run() refuses.
CanonicalCall canonical_forms(const Command& command, std::span<const TensorForm* const> inputs,
                              std::span<const TensorForm* const> outputs);

}  // namespace mote
