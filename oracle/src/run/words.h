// SPDX-License-Identifier: Apache-2.0
// The memory of elements as unsigned integers of their size, for what depends on bits alone.
#pragma once

#include <cstdint>
#include <type_traits>

#include "mote/base/dtype.h"

namespace mote {

/// Calls f with a pointer to the unsigned type of that size.
template <typename F>
decltype(auto) with_words(DType dtype, void* data, F&& f) {
  switch (size_of(dtype)) {
    case 1:
      return f(static_cast<std::uint8_t*>(data));
    case 2:
      return f(static_cast<std::uint16_t*>(data));
    case 4:
      return f(static_cast<std::uint32_t*>(data));
    default:
      return f(static_cast<std::uint64_t*>(data));
  }
}

template <typename F>
decltype(auto) with_words(DType dtype, const void* data, F&& f) {
  return with_words(dtype, const_cast<void*>(data), [&](auto* p) {
    return f(static_cast<const std::remove_pointer_t<decltype(p)>*>(p));
  });
}

}  // namespace mote
