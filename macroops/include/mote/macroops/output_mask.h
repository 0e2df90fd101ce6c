// SPDX-License-Identifier: Apache-2.0
// The outputs of an op that its instances have.
#pragma once

#include "mote/base/export.h"
#include "mote/macroops/catalogue.h"

namespace MOTE_API mote {

/// Returns which outputs of the record with all inputs the instance has, too. If inputs are left
/// out, a gradient's name may lack its final _.
TensorMask output_mask(const OpRecord& record, const Instance& instance);

}  // namespace mote
