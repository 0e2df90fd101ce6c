// SPDX-License-Identifier: Apache-2.0
// Derives implementations with one defect each from a program's own graph: typical mistakes of
// kernels, wherever the graph has a node for them.
#pragma once

#include <string>
#include <vector>

#include "mote/uops/bound.h"

namespace mote::test {

struct Defect {
  std::string name;   ///< "drops the last term", with a number if the graph has more locations
  Program program;    ///< the program with the defect
  Contract contract;  ///< with a native accumulator if a sum is kept in a 16-bit format
};

/// Returns at most two locations of each kind of defect: the first and the last in the graph's
/// order.
std::vector<Defect> defects(const Program& p);

}  // namespace mote::test
