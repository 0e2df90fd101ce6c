// SPDX-License-Identifier: Apache-2.0
// Trees of Map nodes that bounds are made of, each computed in one loop: what lies between its
// operands and its result never leaves the registers. The results are those of the single nodes.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "cell.h"

namespace mote::blocks {

constexpr std::size_t kFusedOperands = 8;

/// y[k] from element k of each operand, which is none that stands for all unless it is a number of
/// the tree.
using FusedLoop = void(const Cell* const* operands, Cell* y, std::int64_t count);

struct Fused {
  FusedLoop* loop = nullptr;
  std::vector<Uop> operands;
  std::uint32_t numbers = 0;  ///< bit k: operand k is a number
};

/// The largest tree whose root is u; its inner nodes are among those that `is_inner` allows. No
/// loop: there is none.
Fused fused(const Uop& u, const std::function<bool(const Uop&)>& is_inner);

}  // namespace mote::blocks
