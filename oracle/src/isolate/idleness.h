// SPDX-License-Identifier: Apache-2.0
// Tells a process that loads or compiles something, which takes pages, reads files or runs other
// processes, from one that only computes, loops or waits.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>

namespace mote::isolate {

class Idleness {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Idleness(pid_t process);

  /// Looks at the process. `waited` is the time that it has waited for a processor since it began.
  void look(std::chrono::nanoseconds waited);
  /// The seconds since it last loaded or compiled something, or was not looked at, without those in
  /// which it waited for a processor.
  double seconds() const { return seconds_; }
  /// True if it has processes of its own, such as a compiler. It takes milliseconds.
  bool has_children() const;
  /// Begins again.
  void restart();

 private:
  struct Work {
    std::int64_t pages = 0;  ///< taken by it, and by its processes that ended
    std::int64_t bytes = 0;  ///< read
    bool is_known = false;
  };
  Work work() const;

  pid_t process_;
  Work since_;
  Clock::time_point begin_;
  Clock::time_point looked_;
  std::chrono::nanoseconds waited_at_begin_{};
  std::chrono::nanoseconds waited_{};
  double seconds_ = 0;
};

}  // namespace mote::isolate
