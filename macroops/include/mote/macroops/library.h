// SPDX-License-Identifier: Apache-2.0
// The functions that the sources given to mote_add_kernels() (CMake) define.
#pragma once

#include <vector>

#include "mote/macroops/catalogue.h"

namespace mote {

/// Returns the ops of the library. Its sources define this function; its generator and its tool
/// call it once.
std::vector<OpRecord> library_ops();
/// Returns the ops of the library's .mote files; mote_add_kernels() writes this function.
std::vector<OpRecord> library_programs();

}  // namespace mote
