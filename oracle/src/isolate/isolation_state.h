// The workers of an Isolation: one for each library, kept from case to case.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "arena.h"
#include "mote/oracle/isolation.h"
#include "worker.h"
#include "zygote.h"

namespace mote {

struct Isolation::State {
  /// Where a backend that this process knows is in a worker.
  struct Place {
    std::string library;  ///< empty: in the image that was forked
    std::int32_t index = 0;
  };

  isolate::Arena arena;
  isolate::Zygote zygote{arena};
  std::map<std::string, std::unique_ptr<isolate::Worker>> workers;  ///< by library
  std::map<const mote_backend*, Place> places;
  std::vector<Plugin> described;  ///< so that no other backend gets a known address

  Place place_of(const mote_backend& backend) const;
  /// Its worker, with the library loaded. Throws Error where that cannot be.
  isolate::Worker& worker_for(const std::string& library);
  void end_worker(const std::string& library) { workers.erase(library); }
};

}  // namespace mote
