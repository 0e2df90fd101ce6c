// SPDX-License-Identifier: Apache-2.0
// Implementations of a program with one defect each, derived from its own graph: what goes wrong in
// kernels, wherever the graph has a place for it.
#pragma once

#include <string>
#include <vector>

#include "mote/uops/bound.h"

namespace mote::test {

struct Defect {
  std::string name;   ///< "drops the last term", with a number where the graph has more places
  Program program;    ///< what is computed instead
  Contract contract;  ///< with a native accumulator where a sum is kept in a 16-bit format
};

/// At most two places for each kind of defect: the first and the last in the graph's order.
std::vector<Defect> defects(const Program& p);

}  // namespace mote::test
