// SPDX-License-Identifier: Apache-2.0
// Runs the backends on one case in turn, on the same memory, and keeps their times.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mote/base/kernel_call.h"
#include "mote/oracle/backends.h"
#include "mote/oracle/case.h"
#include "run/buffer.h"
#include "run/call_frame.h"
#include "run/subject_run.h"

namespace mote::tool {

/// A backend's kernel with its call prepared: chosen, accepted, with its workspace.
struct PreparedSubject {
  BackendEntry entry;
  const mote_kernel* kernel = nullptr;
  KernelRun run = nullptr;
  std::unique_ptr<CallFrame> frame = nullptr;
  std::unique_ptr<Dense> workspace = nullptr;
  std::vector<Dense> outputs = {};   ///< of its first call
  std::vector<double> seconds = {};  ///< of one call, by round
  int calls = 1;                     ///< in a round

  std::string name() const { return entry.name(); }
};

struct DeclinedSubject {
  std::string backend;
  std::string reason;
};

/// The times of all rounds of one case.
struct MeasuredCase {
  std::vector<PreparedSubject> subjects;
  std::vector<DeclinedSubject> declined;
};

struct RoundsWanted {
  double seconds = 1;  ///< for each subject, at least kLeastRounds rounds
  /// Called before each round with its number, from 0, and an estimate of how many there will be;
  /// false ends the measurement.
  std::function<bool(int round, int rounds)> before_round = {};
};

/// A case with its data in memory. All subjects get the same tensors, so that addresses and
/// alignment are equal for all; their workspaces are aligned to pages.
class MeasuredBench {
 public:
  /// Throws Error when the case does not fit into memory.
  explicit MeasuredBench(Case c);

  const Case& of() const { return case_; }
  /// Prepares the backend's call and runs it once; adds it to the subjects, or to the declined with
  /// the reason.
  void add(const BackendEntry& entry, MeasuredCase& into);
  /// Interleaves the subjects' rounds: each round runs every subject, in another order each time,
  /// as often as lasts kRoundSeconds. Before the rounds each has run once.
  void measure(MeasuredCase& measured, const RoundsWanted& wanted);

 private:
  Case case_;
  Bench bench_;
};

}  // namespace mote::tool
