// SPDX-License-Identifier: Apache-2.0
// Trees of Map nodes that error bounds consist of, each computed in one loop: intermediate values
// never leave the registers. The results are those of the single nodes.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "cell.h"

namespace mote::blocks {

constexpr std::size_t kFusedOperands = 8;

/// Computes y[k] from element k of each operand. Only an operand that is a number of the tree may
/// be one cell that stands for all.
using FusedLoop = void(const Cell* const* operands, Cell* y, std::int64_t count);

struct Fused {
  FusedLoop* loop = nullptr;
  std::vector<Uop> operands;
  std::uint32_t numbers = 0;  ///< bit k: operand k is a number
};

/// The largest tree with root u whose inner nodes satisfy `is_inner`. `loop` is null if there is
/// none.
Fused fused(const Uop& u, const std::function<bool(const Uop&)>& is_inner);

}  // namespace mote::blocks
