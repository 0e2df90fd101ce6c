// SPDX-License-Identifier: Apache-2.0
// Compares devices, and finds one in a list of what stands for one device each.
#pragma once

#include <dlpack/dlpack.h>

#include <algorithm>
#include <cstdint>

namespace mote {

inline bool is_same_device(DLDevice a, DLDevice b) {
  return a.device_type == b.device_type && a.device_id == b.device_id;
}

/// Returns the position of the first element whose member `device` is that device; the size of the
/// list if there is none.
template <typename List>
std::uint32_t device_index(const List& list, DLDevice device) {
  const auto found = std::ranges::find_if(
      list, [&](const auto& element) { return is_same_device(element.device, device); });
  return static_cast<std::uint32_t>(found - list.begin());
}

}  // namespace mote
