// The C compiler of the machine that runs `mote`, which compiles the references of program files.
// Where there is none that works, the interpreter judges them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// The words of $CC ("ccache gcc"), or "cc" where that is not set.
std::vector<std::string> c_compiler();

/// Whether it makes a library of a small program that can be loaded here.
bool c_compiler_works();

/// Runs a command without a shell, its input and messages /dev/null, and gives its standard output;
/// nullopt when it cannot be started or does not exit with 0.
std::optional<std::string> run_command(const std::vector<std::string>& words);

}  // namespace mote
