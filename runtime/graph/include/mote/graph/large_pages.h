// SPDX-License-Identifier: Apache-2.0
// Memory in large pages: a graph of 100,000 nodes is written once and read a few times, so that the
// system's work for each small page, and the processor's to find it, is a good part of the time.
#pragma once

#include <cstddef>
#include <iterator>
#include <vector>

namespace mote::detail {

/// Asks the system to give this memory, which nothing has touched yet, in large pages. It may take
/// that as no more than a hint, and memory of a few such pages is left alone.
void prefer_large_pages(const void* memory, std::size_t bytes) noexcept;

/// Reserves room for `room` values in all, in large pages. Those that are there move.
template <typename T>
void reserve_in_large_pages(std::vector<T>& values, std::size_t room) {
  if (room <= values.capacity()) return;
  std::vector<T> larger;
  larger.reserve(room);
  prefer_large_pages(larger.data(), room * sizeof(T));
  larger.insert(larger.end(), std::make_move_iterator(values.begin()),
                std::make_move_iterator(values.end()));
  values.swap(larger);
}

}  // namespace mote::detail
