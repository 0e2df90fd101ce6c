// SPDX-License-Identifier: Apache-2.0
#include "graph_mutex.h"

#include <utility>

#include "kernel.h"

namespace mote::trace {

void Gone::add(Step& step) noexcept { step.next_dead = std::exchange(steps, &step); }

void Gone::take(Gone& other) noexcept {
  while (Step* step = other.steps) {
    other.steps = step->next_dead;
    add(*step);
  }
  graphs.splice(graphs.end(), other.graphs);
}

void end(Gone& gone) noexcept {
  thread_local Gone* ending = nullptr;
  if (ending != nullptr) return ending->take(gone);
  ending = &gone;
  while (!gone.is_empty()) {
    if (Step* step = gone.steps) {
      gone.steps = step->next_dead;
      delete step;
    } else {
      GraphCache::Entries one;
      one.splice(one.end(), gone.graphs, gone.graphs.begin());
    }
  }
  ending = nullptr;
}

}  // namespace mote::trace
