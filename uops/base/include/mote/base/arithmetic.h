// SPDX-License-Identifier: Apache-2.0
// Converts numbers of any arithmetic type to the two that mote has, double and int64_t. So a caller
// may write 0, 0u or a size, and no call is ambiguous.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "mote/base/export.h"

namespace MOTE_API mote {

template <typename T>
concept Arithmetic = std::is_arithmetic_v<T>;

/// Calls `use` with the number as a double or an int64_t; an integer beyond int64_t, which only
/// 64-bit unsigned types have, becomes a double.
template <Arithmetic T, typename Use>
void to_real_or_integer(T number, const Use& use) {
  if constexpr (std::is_floating_point_v<T>) {
    use(static_cast<double>(number));
  } else {
    if constexpr (std::unsigned_integral<T> && sizeof(T) >= sizeof(std::int64_t)) {
      if (number > static_cast<T>(std::numeric_limits<std::int64_t>::max()))
        return use(static_cast<double>(number));
    }
    use(static_cast<std::int64_t>(number));
  }
}

}  // namespace mote
