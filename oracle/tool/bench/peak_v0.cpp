// SPDX-License-Identifier: Apache-2.0
// The loops with vectors of 16 bytes.
#include "bench/peak_loops.h"

namespace mote::tool {

const PeakLoops kPeakV0 = peak_loops<16>();

}  // namespace mote::tool
