// SPDX-License-Identifier: Apache-2.0
// How many inputs and outputs a function takes that is a node of a graph.
#pragma once

#include <cstddef>
#include <limits>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// How many there may be of something.
struct CountRange {
  std::size_t least = 0;
  std::size_t most = std::numeric_limits<std::size_t>::max();
};

/// How many inputs and outputs a function takes.
struct FunctionCounts {
  CountRange inputs, outputs;
};

}  // namespace mote
