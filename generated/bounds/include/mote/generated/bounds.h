// SPDX-License-Identifier: Apache-2.0
// Looking up the compiled error bounds of the catalogue (mote/uops/bound.h) by op, dtype and mask
// of inputs. There is one, for f32 and f64, where an output of the instance is not certain and the
// bound has few nodes that are not all element-wise, or sums only what data selects: others are
// faster interpreted (docs/bound.md).
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
  /// The elements of each array of doubles that it allocates, as index text; ";" between them.
  const char* temporaries;
};
}

namespace MOTE_API mote {

/// Bounds of more nodes are not compiled. Measured: over the catalogue's ops this number makes the
/// product of their times least (mote_bound_cost).
inline constexpr std::size_t kCompiledNodes = 118;

/// nullptr when there is none. Its call has the inputs of the op's record; its outputs are those of
/// bound(). `input_mask`: bit k: input k of the op's record is present.
const mote_generated_bound* find_bound(std::string_view op, DType dtype, TensorMask input_mask);

}  // namespace mote
