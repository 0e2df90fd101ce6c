// SPDX-License-Identifier: Apache-2.0
// Converts indices of axes and operands, which are int, to array indices.
#pragma once

#include <cstddef>

namespace mote {

constexpr std::size_t at(int k) { return static_cast<std::size_t>(k); }

}  // namespace mote
