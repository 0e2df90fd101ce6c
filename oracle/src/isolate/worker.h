// SPDX-License-Identifier: Apache-2.0
// This process's end of a worker: questions, answers, and how it ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "arena.h"
#include "protocol.h"
#include "zygote.h"

namespace mote::isolate {

/// How a question ended.
enum class Ending : std::uint8_t {
  answered,
  crashed,  ///< the worker ended
  hung,     ///< it did not answer in time, and was ended
  memory,   ///< it took more memory than it may, and was ended
  gaps      ///< it touched more of the gaps of tensors than there is memory for, and was ended
};

struct Answer {
  Ending ending = Ending::answered;
  Reply reply;      ///< of a crash: the fault, where one was reported
  std::string how;  ///< "SIGSEGV", "ended the process (exit code 3)"; of memory: how much
};

/// Gaps of tensors are memory once they are touched.
constexpr std::int64_t kMaxGapBytes = std::int64_t{1} << 30U;

struct Limits {
  double seconds = 30;
  double warm_up_s = 0;             ///< beyond that, for the first call of a kernel in a process
  std::int64_t memory = INT64_MAX;  ///< of its own, beside the arena, since it began
  const Arena* arena = nullptr;     ///< where given, it grows by kMaxGapBytes at most
  const std::atomic<int>* stop = nullptr;  ///< CaseRunOptions::stop
};

class Worker {
 public:
  Worker(const Zygote& zygote, const std::string& library)
      : zygote_(zygote), child_(zygote.spawn(library)), inherited_(own_memory()) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// After any ending but answered the worker is gone. Throws Interrupted where it is still busy
  /// when the user wants the end.
  Answer ask(const Question& question, const Limits& limits);
  bool alive() const { return child_.process > 0; }

 private:
  Answer receive(const Limits& limits);
  Answer gone(const Reply* fault);
  Answer ended_by_us(Ending ending, std::string how);
  int end();
  std::int64_t own_memory() const;

  const Zygote& zygote_;
  Zygote::Child child_;
  std::int64_t inherited_;  ///< pages of the program that was forked: the worker did not take them
};

}  // namespace mote::isolate
