// SPDX-License-Identifier: Apache-2.0
// Places in an array, which axes and operands count by int.
#pragma once

#include <cstddef>

namespace mote {

constexpr std::size_t at(int k) { return static_cast<std::size_t>(k); }

}  // namespace mote
