// SPDX-License-Identifier: Apache-2.0
// C and C++ that is compiled at run time, in a folder: no shell, and the compiler's words in
// errors.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace mote {

/// Makes the file's folder where it is missing. Throws Error "PATH: cannot be written".
void write_source(const std::filesystem::path& path, const std::string& text);
/// The headers that thunks include.
void write_headers(const std::filesystem::path& folder);

/// Runs a compiler. Throws Error "WHAT: cc failed: …".
void run_compiler(const std::string& what, const std::vector<std::string>& words);

/// NAME.c in the folder, compiled to an object of position-independent code whose includes are
/// looked for in the folder too. Throws Error.
std::filesystem::path object_of(const std::filesystem::path& folder, const std::string& name,
                                const std::string& text, const std::vector<std::string>& options);

}  // namespace mote
