// SPDX-License-Identifier: Apache-2.0
// Compiles C and C++ at run time, in a folder, without a shell; errors quote the compiler.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace mote {

/// Writes a file and makes its folder if it is missing. Throws Error "PATH: cannot be written".
void write_source(const std::filesystem::path& path, const std::string& text);
/// Writes the headers that thunks include.
void write_headers(const std::filesystem::path& folder);

/// Runs a compiler. Throws Error "WHAT: cc failed: …".
void run_compiler(const std::string& what, const std::vector<std::string>& words);

/// Compiles NAME.c in the folder to an object of position-independent code; the folder is an
/// include path too. Throws Error.
std::filesystem::path object_of(const std::filesystem::path& folder, const std::string& name,
                                const std::string& text, const std::vector<std::string>& options);

}  // namespace mote
