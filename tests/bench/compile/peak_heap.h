// SPDX-License-Identifier: Apache-2.0
// The bytes that this program has taken by new and not given back: peak_heap.cpp replaces every
// form of it. Memory of tensors is taken otherwise and does not count.
#pragma once

#include <cstddef>

namespace mote::bench {

/// Returns the bytes at present.
std::size_t heap_bytes();
/// Returns the most bytes since the last call of start_peak().
std::size_t peak_heap_bytes();
void start_peak();

}  // namespace mote::bench
