// SPDX-License-Identifier: Apache-2.0
// Moves invariant computations out of loops: nodes that depend on fewer axes than they have become
// tensors over those axes alone, which their readers read. For example, the weights of a resize
// depend on the pixel, not on image and channel; the scale of a row does not depend on the column.
#pragma once

#include "masked.h"
#include "mote/uops/program.h"

namespace mote::blocks {

struct Hoisted {
  Program program;
  Masks masks;  ///< the masked nodes of the program
};

/// The program after hoisting, with the same results, bit for bit. Inputs, sizes and parameters are
/// those of `program`. The conditions of masked regions stay as they are.
Hoisted hoisted(const Program& program, const Masks& masks = {});

}  // namespace mote::blocks
