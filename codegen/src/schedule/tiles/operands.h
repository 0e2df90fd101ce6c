// SPDX-License-Identifier: Apache-2.0
// Splits the terms of a reduction into operands that a tile of its results shares: in y[m, n] = Σ_k
// a[m, k]·b[k, n], all m share b[k, n] and all n share a[m, k].
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schedule/tiles/nest.h"

namespace mote {

/// The axis of a tile along which an operand changes: along vectors, or along rows of vectors.
enum class Side : std::uint8_t { vector, rows };

struct SharedOperand {
  Value value;
  Side side;
};

struct SharedOperands {
  std::vector<SharedOperand> operands;  ///< each once
  /// The term of each fold, with operand k as the name operand_name(k).
  std::vector<Value> terms;
  /// The conditions under which a term counts, by the axis that they depend on.
  Conditions vector_conditions, row_conditions, other_conditions;
};

std::string operand_name(std::size_t k);

/// Returns nullopt if a term is no sum, difference, product or quotient of such operands, if no
/// operand changes along one of the axes, or if terms that do not count would not be 0 with
/// operands that are 0. Sums of reals and of i32 have such terms. `own` are names and scalars of
/// one result, which no operand may read.
std::optional<SharedOperands> shared_operands(const ReductionNest& nest, Symbol vector, Symbol rows,
                                              const std::set<std::string>& own);

}  // namespace mote
