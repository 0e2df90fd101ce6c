// SPDX-License-Identifier: Apache-2.0
// C text as a library: its file, or loaded into this process.
#pragma once

#include <memory>
#include <string>

#include "mote/base/temporary_folder.h"

namespace mote {

/// The file of a library, which is removed with this.
struct CLibrary {
  TemporaryFolder folder;
  std::string path;
};

/// The library that c_compiler() makes of the text, with the flags of exact kernels; it may include
/// mote/base/thunk.h. Null where that fails.
std::shared_ptr<const CLibrary> compile_library(const std::string& text);
/// The same, loaded into this process; its file is gone then.
std::shared_ptr<void> load_c(const std::string& text);

}  // namespace mote
