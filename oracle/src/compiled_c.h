// SPDX-License-Identifier: Apache-2.0
// C text as a library of this process.
#pragma once

#include <memory>
#include <string>

namespace mote {

/// The library that c_compiler() makes of the text, with the flags of exact kernels; it may include
/// mote/base/thunk.h. Null where that fails.
std::shared_ptr<void> load_c(const std::string& text);

}  // namespace mote
