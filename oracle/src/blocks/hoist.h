// SPDX-License-Identifier: Apache-2.0
// What a loop over some axes does not change is computed once: nodes that depend on fewer axes than
// they have become tensors over those axes alone, read by whoever needs them. Weights of a resize
// depend on the pixel, not on image and channel; a row's scale not on the column.
#pragma once

#include "mote/uops/program.h"
#include "thin.h"

namespace mote::blocks {

struct Hoisted {
  Program program;
  Thins thins;  ///< of its nodes
};

/// The same results, bit for bit. Inputs, sizes and parameters are those of `program`. What thin
/// regions are about is theirs: their conditions stay as they are.
Hoisted hoisted(const Program& program, const Thins& thins = {});

}  // namespace mote::blocks
