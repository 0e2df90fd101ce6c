// SPDX-License-Identifier: Apache-2.0
// Winograd convolutions in float, as people write them, with their choices and with defects. The
// matrices are those of the paper (Lavin and Gray, 2016), independent of the op's forms.
#pragma once

#include <vector>

#include "mote/uops/evaluate.h"

namespace mote::test {

struct WinogradStyle {
  int m = 2;                   ///< the outputs of a tile along an axis: 2 or 4
  bool columns_first = false;  ///< the order of each transform
  bool fused = false;          ///< multiply-adds round once
  bool weights_in_double = false;
  bool backward = false;  ///< sums over channels start from the last
  // Defects.
  double constant_off = 0;         ///< the relative error of one constant of the inverse transform
  bool last_tile_at_edge = false;  ///< reads the last row of x again instead of zeros below it
};

/// Computes conv2d of x[N, C, H, W] and w[CO, CG, 3, 3], plus b if given; stride and dilation are
/// 1.
Array winograd(const std::vector<Array>& inputs, const std::vector<std::int64_t>& pads, int groups,
               const WinogradStyle& style);

}  // namespace mote::test
