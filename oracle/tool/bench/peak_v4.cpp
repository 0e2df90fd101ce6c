// SPDX-License-Identifier: Apache-2.0
// The loops with vectors of 64 bytes.
#include "bench/peak_loops.h"

namespace mote::tool {

const PeakLoops kPeakV4 = peak_loops<64>();

}  // namespace mote::tool
