// SPDX-License-Identifier: Apache-2.0
// The plan of conv2d for one call: the size of a tile, and the operands whose layout BLAS cannot
// take.
#pragma once

#include <cstdint>
#include <optional>

#include "support/conv2d_call.h"

namespace mote::openblas {

struct ConvPlan : backend::Conv2dCall {
  std::int64_t taps = 0;       ///< CG·KH·KW: the length of each sum
  std::int64_t tile_rows = 1;  ///< output rows of one product
  std::optional<std::int64_t>
      w_tap_stride;  ///< the stride of CG, KH, KW as one axis, if there is one
  std::optional<std::int64_t>
      y_pixel_stride;         ///< the stride of OH, OW as one axis, if there is one
  bool pack_weights = false;  ///< w's layout is no BLAS matrix
  bool spare_tile = false;    ///< y's layout is no BLAS matrix

  std::int64_t packed_elements() const { return pack_weights ? group_outputs() * taps : 0; }
  std::int64_t column_elements() const { return taps * tile_rows * y.shape[3]; }
  std::int64_t tile_elements() const {
    return spare_tile ? group_outputs() * tile_rows * y.shape[3] : 0;
  }
  std::size_t workspace_elements() const {
    return static_cast<std::size_t>(packed_elements() + column_elements() + tile_elements());
  }
};

/// Reads and checks the call; returns the refusal if it is illegal or beyond BLAS's integers.
backend::Check make_conv_plan(const mote_call& call, ConvPlan& plan);

}  // namespace mote::openblas
