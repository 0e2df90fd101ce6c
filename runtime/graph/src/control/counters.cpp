// SPDX-License-Identifier: Apache-2.0
#include "control/counters.h"

#include <atomic>

namespace mote {
namespace {

// Of the function that runs in this thread.
thread_local LoopCounters counters_here;
thread_local std::uint64_t owner_here = 0;

}  // namespace

LoopCounters loop_counters() { return counters_here; }
std::uint64_t loop_owner() { return owner_here; }

std::uint64_t new_loop_owner() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

LoopScope::LoopScope(LoopCounters counters, std::uint64_t owner)
    : counters_(counters_here), owner_(owner_here) {
  counters_here = counters;
  owner_here = owner;
}
LoopScope::~LoopScope() {
  counters_here = counters_;
  owner_here = owner_;
}

void graph::set_counters(LoopCounters counters) { counters_here = counters; }

}  // namespace mote
