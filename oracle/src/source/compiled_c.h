// SPDX-License-Identifier: Apache-2.0
// Compiles C text to a library, as a file or loaded into this process.
#pragma once

#include <memory>
#include <string>

#include "mote/base/temporary_folder.h"

namespace mote {

/// The file of a library, which is removed with this object.
struct CLibrary {
  TemporaryFolder folder;
  std::string path;
};

/// The library that c_compiler() makes from the text, with the flags of exact kernels; the text may
/// include mote/base/thunk.h. Null if that fails.
std::shared_ptr<const CLibrary> compile_library(const std::string& text);
/// The library loaded into this process; its file is removed.
std::shared_ptr<void> load_c(const std::string& text);

}  // namespace mote
