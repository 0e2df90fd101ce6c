// SPDX-License-Identifier: Apache-2.0
// The tensor allocation of NNC (libnnc.org, "The NNC Tensor Allocation Algorithm").
#pragma once

#include "pack.h"
#include "part.h"

namespace mote::memory {

/// Places the blocks of a part by the allocation graph; fills its neighbours. Its time grows with
/// the third power of the number of blocks at worst.
Packing pack_as_seed(Part& part);

}  // namespace mote::memory
