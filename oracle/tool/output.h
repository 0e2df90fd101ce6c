// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace mote::tool {

/// Writes text to standard output.
void print(std::string_view text);

}  // namespace mote::tool
