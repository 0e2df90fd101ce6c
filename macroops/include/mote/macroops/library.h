// SPDX-License-Identifier: Apache-2.0
// What the sources given to mote_add_kernels() (CMake) define.
#pragma once

#include <vector>

#include "mote/macroops/catalogue.h"

namespace mote {

/// The ops of the library: defined by its sources, called once by its generator and its tool.
std::vector<OpRecord> library_ops();
/// The ops of the library's .mote files; mote_add_kernels() writes this function.
std::vector<OpRecord> library_programs();

}  // namespace mote
