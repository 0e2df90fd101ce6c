// SPDX-License-Identifier: Apache-2.0
// Maps a tensor's own axes to the canonical axes of its op: each canonical axis gets a run of none,
// one or several, in order.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "command/fit.h"
#include "tensor/at.h"

namespace mote {

/// The number of the tensor's axes that each canonical one gets; bit k of `done`: axis k is fitted.
struct Runs {
  std::array<int, kMaxAxes> count{};
  std::uint32_t done = 0;
};

/// Finds the runs of each operand. With an axis, the first operand must be an input. Throws
/// StatusError "softmax: …" if there are too many axes or too few.
void find_runs(const mote_op_definition& op, std::optional<int> axis,
               std::span<const CallOperand> operands, std::span<Runs> runs);

/// Returns the tensor's axis at which the run of canonical axis k begins.
int begin_of(const Runs& runs, int k);

inline constexpr int kUnused = -1;
/// Returns the canonical axis of that size; kUnused if there is none.
int find_axis(const mote_op_tensor& m, const char* size);

inline bool flag(std::uint32_t bits, int axis) { return (bits >> axis & 1U) != 0; }
inline bool same_axis(const char* a, const char* b) { return std::strcmp(a, b) == 0; }

/// Throws StatusError "op: what".
[[noreturn]] void refuse(const mote_op_definition& op, const std::string& what,
                         mote_status status = MOTE_INVALID);

std::string text_of(const CallOperand& o);  ///< "x f32[2,3]"

}  // namespace mote
