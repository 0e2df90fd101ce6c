// SPDX-License-Identifier: Apache-2.0
// The bytes that this program takes by new while they are counted: peak_heap.cpp replaces every
// form of it. Memory of tensors is taken otherwise and does not count.
#pragma once

#include <cstddef>

namespace mote::bench {

/// Begins to count, from 0. What is taken from now on is given back before the end of counting, or
/// is not missed.
void start_counting();
/// Ends it, and returns the most bytes that were taken at once.
std::size_t stop_counting();
/// Gives free memory of the heap back, so that what follows takes all that it needs anew.
void empty_heap();

}  // namespace mote::bench
