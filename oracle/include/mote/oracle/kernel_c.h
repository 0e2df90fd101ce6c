// SPDX-License-Identifier: Apache-2.0
// The kernel of an op as C, for people and for `mote emit`.
#pragma once

#include <string>

#include "mote/base/export.h"
#include "mote/oracle/resolve.h"

namespace MOTE_API mote {

struct KernelOptions {
  bool fast = false;        ///< the variant fast instead of oracle
  bool standalone = false;  ///< with includes and the helpers that it calls
};

/// The function mote_<op>_<dtype>, and those that it calls where optional inputs are NULL; optional
/// outputs may be NULL too. A program file's is mote_<name>.
std::string kernel_c(const Resolved& op, const KernelOptions& options);
std::string kernel_function(const Resolved& op);

}  // namespace mote
