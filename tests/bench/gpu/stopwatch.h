// SPDX-License-Identifier: Apache-2.0
// Times work on the GPU by the GPU's own events.
#pragma once

#include <functional>
#include <vector>

#include "cuda/driver.h"
#include "on_gpu.h"

namespace mote::bench {

/// Queues the timed work once on the stopwatch's stream.
using Queued = std::function<void()>;

/// The median of the times in seconds, and their interquartile range as a share of it.
struct Times {
  double median = 0;
  double spread = 0;
};

class Stopwatch {
 public:
  /// `room` is the size in bytes of each of the two blocks that copies go between.
  Stopwatch(const cuda::Driver& driver, cuda::DriverStream* stream, std::size_t room);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Queues a copy on the GPU that reads and writes `bytes` in total, or fewer if the room is
  /// smaller.
  void copy(double bytes) const;
  double copied(double bytes) const;  ///< the number of bytes that copy() moves

  /// Runs all in turn, so that a change of clocks affects all alike, after an untimed first run.
  /// Each round queues a piece of work often enough that it takes `least_s`, behind copies that
  /// last until all is queued, so that the time of queueing is not measured.
  std::vector<Times> time(const std::vector<Queued>& all, int rounds, double least_s) const;

 private:
  struct Plan {
    int repeats;
    int delays;  ///< the number of copies that come first
  };
  Plan plan(const Queued& work, double least_s) const;
  double seconds(const Queued& work, const Plan& plan) const;
  void check(int status, const char* call) const { driver_.check(status, call); }

  const cuda::Driver& driver_;
  cuda::DriverStream* stream_;
  DeviceMemory from_;
  DeviceMemory to_;
  cuda::DriverEvent* begin_ = nullptr;
  cuda::DriverEvent* end_ = nullptr;
};

}  // namespace mote::bench
