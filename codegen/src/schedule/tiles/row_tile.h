// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: computes tiles of rows together, the iterations of a loop of which each
// holds several reductions whose results share operands. In attention, a tile of queries has its
// scores in one product, then each query its softmax, then the tile its mixed values in another.
#pragma once

#include "mote/codegen/schedule.h"
#include "schedule/tiles/products.h"

namespace mote {

struct RowTile {
  Body body;  ///< takes the place of the loop over rows
  Conditions demands;
  std::string effect;
};

struct RowTileAmounts {
  std::int64_t height;  ///< rows of a tile
  int vectors;          ///< in each row
  int vector_bytes;
};

/// `own` are the temporaries that each row fills before it reads them. Returns nullopt if there is
/// no such reduction. Throws CannotTile.
std::optional<RowTile> tiled_rows(LoopProgram& p, const Loop& rows,
                                  const std::vector<const Loop*>& around,
                                  const std::set<std::string>& own, const RowTileAmounts& amounts);

}  // namespace mote
