// SPDX-License-Identifier: Apache-2.0
// Runs the calls of one case in a worker.
#pragma once

#include <optional>
#include <vector>

#include "isolation_state.h"
#include "run/call_frame.h"
#include "run/prepared_state.h"
#include "run/subject_run.h"
#include "site.h"

namespace mote::isolate {

class IsolatedRun {
 public:
  IsolatedRun(const Case& c, const CaseRunOptions& options, const Prepared::State& state,
              const mote_backend& backend, const Isolation::State::Location& location,
              const Limits& limits, double multiply_adds);

  ~IsolatedRun();
  IsolatedRun(const IsolatedRun&) = delete;
  IsolatedRun& operator=(const IsolatedRun&) = delete;

  /// The kernel, from this process's copy of the backend; if it is nullptr, why() is the outcome.
  const mote_kernel* choose();
  const Outcome& why() const { return why_; }
  std::size_t workspace() const { return workspace_; }

  /// Adds the workspace to the site, and makes a second site of the same layout.
  void place();
  /// Calls the kernel at the first or the second site, which are on different pages.
  RunResult run(const std::vector<Dense>& inputs, Poison pattern, int site);
  /// Makes the next call the first of a new worker.
  void restart() { isolation_.end_worker(location_.library); }
  bool affords_restarts() const { return isolation_.affords_new_workers(location_.library); }
  void note_restarts_in_vain() { ++isolation_.warm_ups[location_.library].in_vain; }
  /// Sets the time to wait for threads that a call began, from now on.
  void set_linger(double seconds) { linger_s_ = seconds; }
  /// True if every call so far ended with a thread more than it began with.
  bool leaves_threads() const { return calls_ > 0 && grown_ == calls_; }
  int threads() const { return threads_; }
  /// True if a call returned MOTE_FAILED: its process may have lost a device, and would fail from
  /// then on.
  bool has_failed() const { return has_failed_; }

 private:
  Answer ask(Question question, const mote_call& call, const Site* open);
  std::int64_t kernel_number(const Question& question) const;
  CallResult call(const mote_call& call, int site);
  Outcome ended(const Answer& answer, const Site& current, const Site* earlier);

  const Case& case_;
  const Prepared::State& state_;
  const mote_backend& backend_;
  Isolation::State& isolation_;
  Isolation::State::Location location_;
  Limits limits_;
  double multiply_adds_;
  bool is_limit_given_;  ///< by a person, who knows how long a call may take
  std::vector<Site> sites_;
  std::vector<Bench> benches_;
  Outcome why_;
  std::int32_t kernel_index_ = -1;
  std::size_t workspace_ = 0;
  double linger_s_ = 0;
  double warm_up_s_ = 0;  ///< the warm-up of the latest question
  int calls_ = 0;
  int grown_ = 0;
  int threads_ = 0;
  bool has_failed_ = false;
};

}  // namespace mote::isolate
