// SPDX-License-Identifier: Apache-2.0
// Loads the OpenBLAS plug-in once for all tests of this program.
#pragma once

#include "mote/base/plugin.h"
#include "support/call.h"

namespace mote::test {

/// The value of memory that no kernel may write.
inline constexpr double kUntouched = -77;

inline const mote_kernel& openblas_kernel(const char* op) {
  static const Plugin plugin = load_plugin(MOTE_OPENBLAS_PLUGIN);
  return *kernel_of(*plugin.backends.at(0), op);
}

}  // namespace mote::test
