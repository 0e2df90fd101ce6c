// SPDX-License-Identifier: Apache-2.0
// Describes the backends of a library as text: the process that judges learns names and contracts
// without loading the library.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mote/base/plugin.h"

namespace mote::isolate {

std::string describe(const std::vector<const mote_backend*>& backends);

/// Backends with those names, ops and contracts, whose kernels decline here: they run in a worker.
/// Throws Error for text that describe() did not write.
Plugin described(const std::string& path, const std::string& text);

}  // namespace mote::isolate
