// SPDX-License-Identifier: Apache-2.0
// Looks up the compiled error bounds of the catalogue (mote/uops/bound.h) by op, dtype and mask of
// inputs. One exists, for f32 and f64, if an output of the instance is not certain and the bound
// has few nodes that are not all elementwise, or sums only values that data selects: others are
// faster to interpret (docs/bound.md).
#pragma once

#include <cstdint>
#include <string_view>

#include "mote/base/dtype.h"
#include "mote/base/export.h"
#include "mote/base/registry.h"
#include "mote/base/tensor_mask.h"

extern "C" {
struct mote_generated_bound {
  mote_generated_kernel kernel;
  /// The number of elements of each array of doubles that it allocates, as index text, separated by
  /// ";".
  const char* temporaries;
};
}

namespace MOTE_API mote {

/// The maximum number of nodes of a compiled bound, except one that sums only selected values. This
/// value minimises the measured product of the times of the catalogue's ops (mote_bound_cost).
inline constexpr std::size_t kCompiledNodes = 118;

/// Returns nullptr if there is none. Its call has the inputs of the op's record; its outputs are
/// those of bound(). Bit k of `input_mask`: input k of the op's record is present.
const mote_generated_bound* find_bound(std::string_view op, DType dtype, TensorMask input_mask);

}  // namespace mote
