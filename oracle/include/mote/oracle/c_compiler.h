// SPDX-License-Identifier: Apache-2.0
// The C compiler of the machine that runs `mote`, which compiles the references of program files.
// Without a working one, the interpreter computes them.
#pragma once

#include <string>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// The words of $CC ("ccache gcc"), or "cc" if that is not set.
std::vector<std::string> c_compiler();

/// True if it compiles a small program to a library that can be loaded here.
bool c_compiler_works();

}  // namespace mote
