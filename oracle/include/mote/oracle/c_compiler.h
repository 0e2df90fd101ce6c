// SPDX-License-Identifier: Apache-2.0
// The C compiler of the machine that runs `mote`, which compiles the references of program files.
// Where there is none that works, the interpreter judges them.
#pragma once

#include <string>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// The words of $CC ("ccache gcc"), or "cc" where that is not set.
std::vector<std::string> c_compiler();

/// Whether it makes a library of a small program that can be loaded here.
bool c_compiler_works();

}  // namespace mote
