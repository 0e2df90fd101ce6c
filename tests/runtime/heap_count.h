// SPDX-License-Identifier: Apache-2.0
// Counts the allocations of this program by new: heap_count.cpp replaces every form of it, counts,
// and may refuse.
#pragma once

namespace mote::test {

/// Returns the number of allocations so far, by any thread.
int heap_allocations();
/// Returns the number of allocations that were not freed.
int live_allocations();

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
