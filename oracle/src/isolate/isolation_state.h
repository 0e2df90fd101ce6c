// SPDX-License-Identifier: Apache-2.0
// The workers of an Isolation, one for each library, kept from case to case, and the locations of
// the tensors of earlier cases.
#pragma once

#include <cstdint>
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
  /// The location of a known backend in a worker.
  struct Location {
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
    std::deque<Past> pasts;          ///< the cases of this worker, the latest last
    std::set<std::int64_t> started;  ///< kernels of which a call has returned
  };

  /// The longest first calls of a library's kernels in a worker: initialisation that a process does
  /// once does not count towards a call's time limit.
  struct WarmUp {
    std::map<std::int64_t, double> longest_s;  ///< by kernel, of the calls that returned
    /// The longest later calls by kernel, and by the power of two of their multiply-adds.
    std::map<std::int64_t, std::map<int, double>> later_s;
    bool is_used_up = false;  ///< one did not return in time
    int in_vain = 0;          ///< cases whose new workers did not confirm a stale result
  };

  /// The way to tell that a call hangs, if nobody gave a time limit.
  enum class Hangs : std::uint8_t {
    by_limit,   ///< it reaches the time limit of its work
    patiently,  ///< likewise, but it may take ten times as long as what returned
    early,      ///< also by loading and compiling nothing for much longer than what returned took
    in_tries    ///< likewise, with less patience: what is found is confirmed early
  };

  /// A backend of this program that is also in a library, which this program launched again can
  /// load.
  struct Elsewhere {
    std::function<std::string()> make;   ///< returns the library's path; throws Error
    std::optional<std::string> library;  ///< its path, once made
    bool is_used = false;                ///< the library is used
    bool is_settled = false;             ///< it was tried, and a fork is used
  };

  isolate::Arena arena;
  bool had_threads = false;  ///< a fork of this program lacks them
  std::unique_ptr<isolate::Zygote> zygote;
  std::optional<isolate::Relauncher> relauncher;
  std::unique_ptr<isolate::Zygote> relaunched;
  bool cannot_relaunch = false;
  Hangs hangs = Hangs::by_limit;
  std::map<std::string, Tenant> tenants;   ///< the tenants by library
  std::map<std::string, WarmUp> warm_ups;  ///< the warm-ups by library
  std::map<const mote_backend*, Elsewhere> elsewhere;
  char* cursor = arena.room().data();  ///< the start of the next case's tensors
  std::map<const mote_backend*, Location> locations;
  std::vector<Plugin> described;  ///< keeps their addresses, so that no other backend gets one

  Location location_of(const mote_backend& backend) const;
  /// True if a fork of this program may lack threads that the backend waits for.
  bool may_lack_threads(const mote_backend& backend) const;
  /// The location of the backend in this program launched again; nullopt if it cannot be there.
  std::optional<Location> location_elsewhere(const mote_backend& backend);
  /// Records the answer to may_lack_threads().
  void settle(const mote_backend& backend, bool elsewhere_is_right);
  /// The zygote of this program launched again; nullptr if that is impossible.
  const isolate::Zygote* relaunched_zygote();
  /// The worker of the library, with it loaded. Throws Error if that fails.
  isolate::Worker& worker_for(const std::string& library);
  void end_worker(const std::string& library) { tenants.erase(library); }
  /// The time that the next call of a kernel may take beyond its limit; `most_s` if nothing is
  /// known of it.
  double warm_up_of(const std::string& library, std::int64_t kernel, double most_s) const;
  /// The time that a call with so many multiply-adds takes, by the longest of those that returned
  /// after the first in their process; 0: nothing is known.
  double expected_s(const std::string& library, std::int64_t kernel, double multiply_adds) const;
  /// The least limit that such a call has, whatever the default for its work is.
  double least_limit(const std::string& library, std::int64_t kernel, double multiply_adds) const;
  /// The time after which such a call hangs if it loads and compiles nothing; 0: only its limit
  /// says so.
  double idle_limit(const std::string& library, std::int64_t kernel, double multiply_adds) const;
  /// True if new workers are worth their start: it is short, or few were started in vain.
  bool affords_new_workers(const std::string& library) const;
  /// Records that the call returned after that time, or (nullopt) did not return.
  void note_call(const std::string& library, std::int64_t kernel, std::optional<double> seconds,
                 double multiply_adds);
  /// The room for the next case: not at the location of the cases just before it, so that a late
  /// write meets closed pages.
  std::span<char> next_room() const;
  /// Ends a case. `end` is the end of its sites.
  void keep(const std::string& library, Past past, char* end);
  /// The case of that worker whose pages have the address; nullptr: none.
  const Past* past_at(const std::string& library, const void* address) const;
};

}  // namespace mote
