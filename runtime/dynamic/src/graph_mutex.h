// SPDX-License-Identifier: Apache-2.0
// The lock of a dynamic graph. What has code of the caller's goes when the lock is given up: that
// code may have variables of other graphs, whose locks their end takes. So no thread waits for a
// graph's lock while it holds another one's.
#pragma once

#include <mutex>

#include "graph_cache.h"
#include "value.h"

namespace mote::trace {

/// What nothing needs any more.
struct Gone {
  Step* steps = nullptr;  ///< by next_dead; they have no values and steps any more
  GraphCache::Entries graphs;

  bool is_empty() const { return steps == nullptr && graphs.empty(); }
  void add(Step& step) noexcept;
  void take(Gone& other) noexcept;
};

/// Ends what is gone, without recursion: what ends may be the last to have more. No lock is held.
void end(Gone& gone) noexcept;

class GraphMutex {
 public:
  void lock() {
    mutex_.lock();
    ++depth_;
  }
  void unlock() noexcept {
    if (--depth_ > 0 || gone.is_empty()) return mutex_.unlock();
    Gone ends;
    ends.take(gone);
    mutex_.unlock();
    end(ends);
  }

  Gone gone;

 private:
  std::recursive_mutex mutex_;
  int depth_ = 0;
};

}  // namespace mote::trace
