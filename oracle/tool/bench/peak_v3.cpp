// SPDX-License-Identifier: Apache-2.0
// The loops with vectors of 32 bytes.
#include "bench/peak_loops.h"

namespace mote::tool {

const PeakLoops kPeakV3 = peak_loops<32>();

}  // namespace mote::tool
