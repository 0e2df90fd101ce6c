// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: computes a tile of results at a time, and keeps their sums in vector
// registers. Operands that the tile shares lie in panels: the part of b that the columns of a tile
// need is copied to adjacent memory once, and read for each row of a[m, k]·b[k, n].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mote/codegen/schedule.h"
#include "schedule/take.h"

namespace mote {

/// The axis along which a nest's vectors lie, where several are possible.
enum class VectorAxis : std::uint8_t {
  separate,   ///< the innermost loop whose variable no index adds to one of a reduction
  innermost,  ///< the innermost loop, of results that are then adjacent
};

/// Tiles the nests of p whose results share operands, and adds their panels to p.tensors. p demands
/// sizes of at least a tile then. Terms outside of a tensor become products with 0 only if the
/// options allow it. Returns the steps taken, none if there is no such nest.
std::vector<TakenStep> tile_in_registers(LoopProgram& p, const RegisterShape& shape,
                                         VectorAxis axis, const ScheduleOptions& options);
/// Takes one such step on the loops and with the amounts that it names.
Refusal tile_in_registers(LoopProgram& p, const Step& step, const ScheduleOptions& options,
                          std::string& effect);

/// Takes the step `tile_rows t 8`; the size of vectors must be set.
Refusal tile_rows(LoopProgram& p, const StepTarget& rows, const ScheduleOptions& options,
                  std::string& effect);

}  // namespace mote
