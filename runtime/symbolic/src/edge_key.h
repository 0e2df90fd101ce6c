// SPDX-License-Identifier: Apache-2.0
// An order-only edge as one number, for sets.
#pragma once

#include <cstdint>

namespace mote {

inline std::uint64_t edge_key(std::uint32_t before, std::uint32_t after) {
  return std::uint64_t{before} << 32U | after;
}

}  // namespace mote
