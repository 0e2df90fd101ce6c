// SPDX-License-Identifier: Apache-2.0
// Compiles the gen kernels of a program file to a plug-in at run time, as mote-gen and the build
// do for an op of the catalogue.
#pragma once

#include <string>

#include "mote/oracle/backends.h"

namespace mote {

/// The path of the plug-in with one backend, gen, and a kernel for each dtype; compiled at the
/// first call and kept as long as this process. Throws Error with the compiler's messages.
std::string compile_program_kernels(const ProgramKernels& file);

}  // namespace mote
