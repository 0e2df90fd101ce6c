// SPDX-License-Identifier: Apache-2.0
// Draws a random uop program as a pure function of a seed: one to three inputs with sizes A, B, C
// and constants, then a dozen nodes of every kind, read through every kind of index map. Every
// program is legal by construction for A, B >= 0 and C >= 1.
#pragma once

#include <cstdint>

#include "mote/uops/program.h"

namespace mote::test {

struct Budget {
  int least_nodes = 3;
  int most_nodes = 12;
  std::int64_t most_elements = 1500;  ///< the maximum for one node, when every size is 5
  bool has_twins = false;             ///< nodes that compute others' elements again
  /// Some programs are sums of products as tiles in registers compute them, and a few nodes more.
  bool has_products = false;
};

Program random_program(std::uint64_t seed, const Budget& budget = {});

}  // namespace mote::test
