// SPDX-License-Identifier: Apache-2.0
#include "control/counters.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mote {
namespace {

// The counters and the owner of the function that runs in this thread.
thread_local LoopCounters counters_here;
thread_local std::uint64_t owner_here = 0;
thread_local std::uint64_t around_here = 0;

}  // namespace

LoopCounters loop_counters() { return counters_here; }
std::uint64_t loop_owner() { return owner_here; }
std::uint64_t loop_owner_around() { return around_here; }

namespace {

/// The functions that are called when runs end, by owner.
struct Ends {
  std::mutex mutex;
  std::atomic<std::size_t> count{0};
  std::unordered_map<std::uint64_t, std::vector<std::function<void()>>> functions;
};
Ends& ends() {
  static Ends all;
  return all;
}

}  // namespace

void at_end_of(std::uint64_t owner, std::function<void()> function) {
  Ends& all = ends();
  const std::lock_guard lock(all.mutex);
  std::vector<std::function<void()>>& functions = all.functions[owner];
  try {
    functions.push_back(std::move(function));
  } catch (...) {  // nothing would end an owner without functions
    if (functions.empty()) all.functions.erase(owner);
    throw;
  }
  ++all.count;
}

LoopOwner::LoopOwner() {
  static std::atomic<std::uint64_t> last{0};
  number_ = ++last;
}

LoopOwner::~LoopOwner() {
  Ends& all = ends();
  if (all.count.load(std::memory_order_acquire) == 0) return;
  std::vector<std::function<void()>> functions;
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.functions.find(number_);
    if (found == all.functions.end()) return;
    functions = std::move(found->second);
    all.functions.erase(found);
    all.count -= functions.size();
  }
  for (const auto& function : functions) function();
}

LoopScope::LoopScope(LoopCounters counters, std::uint64_t owner)
    : counters_(counters_here), owner_(owner_here), around_(around_here) {
  counters_here = counters;
  if (owner != owner_here) around_here = owner_here;
  owner_here = owner;
}
LoopScope::~LoopScope() {
  counters_here = counters_;
  owner_here = owner_;
  around_here = around_;
}

void graph::set_counters(LoopCounters counters) { counters_here = counters; }

}  // namespace mote
