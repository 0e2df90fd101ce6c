// SPDX-License-Identifier: Apache-2.0
// Which outputs of an op its instances have.
#pragma once

#include "mote/base/export.h"
#include "mote/macroops/catalogue.h"

namespace MOTE_API mote {

/// The outputs of the record with all inputs that the instance has too. Where inputs are left out a
/// gradient may do without the _ behind a name.
TensorMask output_mask(const OpRecord& record, const Instance& instance);

}  // namespace mote
