// Looking up the compiled error bounds of the catalogue (mote/uops/bound.h) by op, dtype and mask
// of inputs. There is one where an output of the instance is not certain, for f32 and f64.
#pragma once

#include <cstdint>
#include <string_view>

#include "mote/base/dtype.h"
#include "mote/base/export.h"
#include "mote/base/registry.h"

namespace MOTE_API mote {

/// nullptr when there is none. Its call has the inputs of the op's record; its outputs are those of
/// bound(). `input_mask`: bit k: input k of the op's record is present.
const mote_generated_kernel* find_bound(std::string_view op, DType dtype, std::uint32_t input_mask);

}  // namespace mote
