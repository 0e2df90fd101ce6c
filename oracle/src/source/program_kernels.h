// SPDX-License-Identifier: Apache-2.0
// The fast kernels of a program file as a plug-in, compiled at run time: what mote-gen and the
// build are to an op of the catalogue.
#pragma once

#include <string>

#include "mote/oracle/backends.h"

namespace mote {

/// The plug-in with one backend, gen, and a kernel for each dtype; compiled at the first call and
/// kept as long as this process. Throws Error with the compiler's messages.
std::string compile_program_kernels(const ProgramKernels& file);

}  // namespace mote
