// SPDX-License-Identifier: Apache-2.0
// A random uop program as a pure function of a seed: one to three inputs with sizes A, B, C and
// constants, then a dozen nodes of every kind, read in every way that an index map can read. Every
// program is legal by construction for A, B >= 0 and C >= 1.
#pragma once

#include <cstdint>

#include "mote/uops/program.h"

namespace mote::test {

struct Budget {
  int least_nodes = 3;
  int most_nodes = 12;
  std::int64_t most_elements = 1500;  ///< of one node, when every size is 5
};

Program random_program(std::uint64_t seed, const Budget& budget = {});

}  // namespace mote::test
