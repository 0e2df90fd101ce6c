// SPDX-License-Identifier: Apache-2.0
// This process's end of a worker: it asks questions, receives answers, and learns how the worker
// ended.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "arena.h"
#include "protocol.h"
#include "zygote.h"

namespace mote::isolate {

/// The result of a question.
enum class Ending : std::uint8_t {
  answered,
  crashed,  ///< the worker ended
  hung,     ///< it did not answer in time, and was ended
  memory,   ///< it took more memory than its limit, and was ended
  gaps      ///< it touched more than kMaxGapBytes of the gaps of tensors, and was ended
};

struct Answer {
  Ending ending = Ending::answered;
  Reply reply;  ///< the fault of a crash, if one was reported
  /// "SIGSEGV", "ended the process (exit code 3)"; for memory: how much; for a hang that was found
  /// before the limit: "no result after 2 s, …".
  std::string how;
};

/// The maximum memory of touched gaps of tensors.
constexpr std::int64_t kMaxGapBytes = std::int64_t{1} << 30U;

struct Limits {
  double seconds = 30;   ///< without those in which the worker waits for a processor
  double warm_up_s = 0;  ///< additional time for the first call of a kernel in a process
  /// The time, without that in which it waits for a processor, after which a worker hangs that
  /// loads and compiles nothing: it took hardly a page, read nothing, and has no process of its
  /// own; 0: no such limit.
  double idle_s = 0;
  std::int64_t memory = INT64_MAX;         ///< its own since its start, without the arena
  const Arena* arena = nullptr;            ///< if given, it may grow by at most kMaxGapBytes
  const std::atomic<int>* stop = nullptr;  ///< CaseRunOptions::stop
};

class Worker {
 public:
  Worker(const Zygote& zygote, const std::string& library)
      : zygote_(zygote), child_(zygote.spawn(library)), inherited_(own_memory()) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Asks a question. After any ending except answered the worker is gone. Throws Interrupted if it
  /// is still busy when the user asks to stop.
  Answer ask(const Question& question, const Limits& limits);
  bool alive() const { return child_.process > 0; }

 private:
  Answer receive(const Limits& limits);
  Answer gone(const Reply* fault);
  Answer ended_by_us(Ending ending, std::string how);
  int end();
  std::int64_t own_memory() const;
  std::chrono::nanoseconds waited() const;

  const Zygote& zygote_;
  Zygote::Child child_;
  std::int64_t inherited_;  ///< memory of the forked program, which does not count
};

}  // namespace mote::isolate
