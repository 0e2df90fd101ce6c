// SPDX-License-Identifier: Apache-2.0
// A call of conv2d: x[N, CG groups, H, W], w[CO, CG, KH, KW], b[CO] or none, y[N, CO, OH, OW].
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "support/call.h"

namespace mote::backend {

struct Conv2dCall {
  Operand x, w, bias, y;
  bool has_bias = false;
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> dilation{1, 1};
  std::array<std::int64_t, 4> pads{0, 0, 0, 0};  ///< top, left, bottom, right
  std::int64_t groups = 1;

  std::int64_t group_outputs() const { return y.shape[1] / groups; }
};

/// Reads the call. Returns the refusal if it is illegal, of another dtype, or has extents beyond 32
/// bits.
Check read_conv2d(const mote_call& call, std::initializer_list<DType> accepted, Conv2dCall& conv);

}  // namespace mote::backend
