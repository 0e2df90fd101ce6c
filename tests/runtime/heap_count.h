// SPDX-License-Identifier: Apache-2.0
// Counts the allocations of this program by new: heap_count.cpp replaces every form of it, counts,
// and may refuse.
#pragma once

#include <cstddef>

namespace mote::test {

/// Returns the number of allocations so far, by any thread.
int heap_allocations();
/// Returns the number of allocations that were not freed.
int live_allocations();

/// The most bytes that are allocated at once during its lifetime, beyond those of its beginning.
/// Only one may exist at a time.
class HeapPeak {
 public:
  HeapPeak();
  std::size_t bytes() const;

 private:
  std::size_t first_;
};

/// During its lifetime, allocation `nth` from now on, counted from 0, fails; or that one and all
/// after it. Only one may exist at a time.
class FailingHeap {
 public:
  enum class Mode { once, from_then_on };
  FailingHeap(int nth, Mode mode);
  ~FailingHeap();
  FailingHeap(const FailingHeap&) = delete;
  FailingHeap& operator=(const FailingHeap&) = delete;
  /// True if an allocation was refused.
  bool has_failed() const;
};

}  // namespace mote::test
