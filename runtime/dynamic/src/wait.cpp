// SPDX-License-Identifier: Apache-2.0
// Threads that wait for values which other threads compute. A function may look at values of any
// graph, so who waits for whom is known across graphs.
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "fail.h"
#include "state.h"

namespace mote::trace {
namespace {

/// The threads that wait, each in a graph, for a step that another thread runs there. A graph's
/// lock may be held when the mutex is taken, and nothing is taken while that is held.
struct Waits {
  struct Wait {
    const State* graph;
    std::thread::id runner;
  };
  std::mutex mutex;
  std::map<std::thread::id, Wait> of;
};

Waits& waits() {
  static Waits all;
  return all;
}

}  // namespace

/// Waits until some step is done, as this one that a thread runs. Fails if that thread waits, with
/// others between, for a step that this thread runs.
void State::wait_for(Lock& lock, const Step& running) {
  const std::thread::id self = std::this_thread::get_id();
  if (running.runner == self) fail("a function looks at a value that it computes");
  {
    Waits& all = waits();
    const std::lock_guard guard(all.mutex);
    for (auto next = all.of.find(running.runner); next != all.of.end();
         next = all.of.find(next->second.runner))
      if (next->second.runner == self)
        fail("functions in several threads look at values of each other: none can go on");
    all.of[self] = {this, running.runner};
  }
  ran.wait(lock);
  const std::lock_guard guard(waits().mutex);
  waits().of.erase(self);
}

/// Wakes those who wait in this graph. They find out again what they wait for: until then they wait
/// for nobody.
void State::end_waits() noexcept {
  {
    const std::lock_guard guard(waits().mutex);
    std::erase_if(waits().of, [&](const auto& wait) { return wait.second.graph == this; });
  }
  ran.notify_all();
}

}  // namespace mote::trace
