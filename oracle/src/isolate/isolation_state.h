// SPDX-License-Identifier: Apache-2.0
// The workers of an Isolation: one for each library, kept from case to case, and where the tensors
// of the cases before lay.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "arena.h"
#include "mote/oracle/isolation.h"
#include "relaunch.h"
#include "site.h"
#include "threads.h"
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
    std::deque<Past> pasts;          ///< of this worker, the latest last
    std::set<std::int64_t> started;  ///< kernels that a call of has returned
  };

  /// How long the first calls of a library's kernels in a worker have taken: what a process does
  /// once is no part of a call's time limit.
  struct WarmUp {
    std::map<std::int64_t, double> longest_s;  ///< of those that returned, by kernel
    bool is_used_up = false;                   ///< one did not return in time
    int in_vain = 0;                           ///< cases whose new workers showed no memory
  };

  /// A backend of this program, also in a library that a program launched once more can load.
  struct Elsewhere {
    std::function<std::string()> make;   ///< the library's path; throws Error
    std::optional<std::string> library;  ///< where it was made
    bool is_used = false;                ///< it is what is run
    bool is_settled = false;             ///< it was tried, and a fork is what is run
  };

  isolate::Arena arena;
  bool had_threads = isolate::count_threads() > 1;  ///< a fork of this program lacks them
  isolate::Zygote zygote{arena};
  std::optional<isolate::Relauncher> relauncher;
  std::unique_ptr<isolate::Zygote> relaunched;
  bool cannot_relaunch = false;
  std::map<std::string, Tenant> tenants;   ///< by library
  std::map<std::string, WarmUp> warm_ups;  ///< likewise
  std::map<const mote_backend*, Elsewhere> elsewhere;
  char* cursor = arena.room().data();  ///< where the next case's tensors begin
  std::map<const mote_backend*, Place> places;
  std::vector<Plugin> described;  ///< so that no other backend gets a known address

  Place place_of(const mote_backend& backend) const;
  /// A fork of this program may lack the threads that the backend waits for.
  bool may_lack_threads(const mote_backend& backend) const;
  /// Where the backend is in this program launched once more; nullopt: it cannot be there.
  std::optional<Place> place_elsewhere(const mote_backend& backend);
  /// What may_lack_threads() asked is known now.
  void settle(const mote_backend& backend, bool elsewhere_is_right);
  /// This program launched once more; nullptr where that cannot be.
  const isolate::Zygote* relaunched_zygote();
  /// Its worker, with the library loaded. Throws Error where that cannot be.
  isolate::Worker& worker_for(const std::string& library);
  void end_worker(const std::string& library) { tenants.erase(library); }
  /// What the next call of a kernel may take beyond its time limit; `most_s` where nothing is known
  /// of it.
  double warm_up_of(const std::string& library, std::int64_t kernel, double most_s) const;
  /// New workers are worth their start: it is short, or they were not often started in vain.
  bool affords_new_workers(const std::string& library) const;
  /// The call returned after that time, or (nullopt) did not.
  void note_call(const std::string& library, std::int64_t kernel, std::optional<double> seconds);
  /// The room of the next case: not where those just before it lie, so that a write that comes
  /// late meets closed pages.
  std::span<char> next_room() const;
  /// The case is over. `end` is behind its sites.
  void keep(const std::string& library, Past past, char* end);
  /// The case of that worker that has the address on its pages; nullptr: none.
  const Past* past_at(const std::string& library, const void* address) const;
};

}  // namespace mote
