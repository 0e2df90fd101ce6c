// SPDX-License-Identifier: Apache-2.0
// The workers of an Isolation: one for each library, kept from case to case, and where the tensors
// of the cases before lay.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "arena.h"
#include "mote/oracle/isolation.h"
#include "site.h"
#include "worker.h"
#include "zygote.h"

namespace mote {

struct Isolation::State {
  /// Where a backend that this process knows is in a worker.
  struct Place {
    std::string library;  ///< empty: in the image that was forked
    std::int32_t index = 0;
  };

  /// A case that a worker has run.
  struct Past {
    std::string text;
    std::vector<isolate::Site> sites;
  };
  struct Tenant {
    std::unique_ptr<isolate::Worker> worker;
    std::deque<Past> pasts;  ///< of this worker, the latest last
  };

  isolate::Arena arena;
  isolate::Zygote zygote{arena};
  std::map<std::string, Tenant> tenants;  ///< by library
  char* cursor = arena.room().data();     ///< where the next case's tensors begin
  std::map<const mote_backend*, Place> places;
  std::vector<Plugin> described;  ///< so that no other backend gets a known address

  Place place_of(const mote_backend& backend) const;
  /// Its worker, with the library loaded. Throws Error where that cannot be.
  isolate::Worker& worker_for(const std::string& library);
  void end_worker(const std::string& library) { tenants.erase(library); }
  /// The room of the next case: not where those just before it lie, so that a write that comes
  /// late meets closed pages.
  std::span<char> next_room() const;
  /// The case is over. `end` is behind its sites.
  void keep(const std::string& library, Past past, char* end);
  /// The case of that worker that has the address on its pages; nullptr: none.
  const Past* past_at(const std::string& library, const void* address) const;
};

}  // namespace mote
