// SPDX-License-Identifier: Apache-2.0
// Prints the kernel of an op as C, for readers and for `mote emit`.
#pragma once

#include <string>

#include "mote/base/export.h"
#include "mote/oracle/resolve.h"

namespace MOTE_API mote {

struct KernelOptions {
  bool gen = false;        ///< the fast variant instead of the oracle variant
  bool standalone = false;  ///< it includes the helpers that it calls
};

/// The function mote_<op>_<dtype>, and the functions that it calls when optional inputs are NULL;
/// optional outputs may be NULL too. The function of a program file is mote_<name>.
std::string kernel_c(const Resolved& op, const KernelOptions& options);
std::string kernel_function(const Resolved& op);

}  // namespace mote
