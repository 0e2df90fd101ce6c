// SPDX-License-Identifier: Apache-2.0
// What this program takes from the heap with new: heap_count.cpp replaces every form of it, counts,
// and may refuse.
#pragma once

namespace mote::test {

/// How often memory was taken, by any thread.
int heap_allocations();
/// How many allocations have not been given back.
int live_allocations();

/// While it lives, allocation `nth` from now on, counted from 0, fails; or that one and all after
/// it. One at a time.
class FailingHeap {
 public:
  enum class Mode { once, from_then_on };
  FailingHeap(int nth, Mode mode);
  ~FailingHeap();
  FailingHeap(const FailingHeap&) = delete;
  FailingHeap& operator=(const FailingHeap&) = delete;
  /// Whether an allocation was refused.
  bool has_failed() const;
};

}  // namespace mote::test
