// SPDX-License-Identifier: Apache-2.0
// Running a case: the reference once, each subject twice over outputs and gaps that are poisoned
// with two different patterns; then the verdict. A subject runs in a worker (isolation.h), or in
// this process.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"
#include "mote/base/kernel.h"
#include "mote/oracle/case.h"
#include "mote/oracle/exactness.h"
#include "mote/oracle/memory.h"

namespace MOTE_API mote {

namespace isolate {
class IsolatedRun;
struct Limits;
}  // namespace isolate
class Isolation;
class CallFrame;
class Dense;
class CrashGuard;
struct Bench;
struct Interval;
struct RunResult;

enum class Verdict : std::uint8_t {
  passed,
  failed,            ///< other values than expected, or run() returned an error
  unwritten,         ///< an element of an output was never written
  out_of_bounds,     ///< memory before or after a tensor or the workspace was written, or touched
  wrote_gap,         ///< a write between the elements of a strided tensor
  changed_input,     ///< a write to an input
  changed_mode,      ///< the rounding mode or the handling of denormals is another one afterwards
  left_threads,      ///< every call leaves a thread behind
  too_much_memory,   ///< more than the limit
  nondeterministic,  ///< two runs differ, as when memory is read before it is written
  stale,             ///< what an earlier call was given or gave shows in this one
  late_access,       ///< a tensor was written or read after the call had returned
  crashed,           ///< a signal, or the process was ended
  hung,              ///< no result within the time limit
  declined,          ///< the backend declines, with a reason
  weak,              ///< nothing is wrong, but nothing is known either about more than a few
                     ///< elements (kFewElements)
  vacuous,           ///< passed, but the case could not have told a wrong kernel: no output that is
                     ///< asked for has an element, or zeros are read and zeros are expected
  skipped            ///< not run, with a reason
};
std::string_view name(Verdict verdict);  ///< "out of bounds"
/// A report's line that explains weak, vacuous, declined or skipped; empty for the others.
std::string_view meaning(Verdict verdict);
constexpr std::size_t kVerdicts = static_cast<std::size_t>(Verdict::skipped) + 1;
/// From failed to hung: the subject is wrong.
bool is_failure(Verdict verdict);
/// crashed or hung: there is no result.
constexpr bool is_lost(Verdict verdict) {
  return verdict == Verdict::crashed || verdict == Verdict::hung;
}

/// A case that leaves more than this share of its elements indeterminate is weak: very few cases of
/// correct kernels do (measured, docs/bound.md), so that a bound that says little is seen.
constexpr double kFewElements = 0.1;

constexpr double kGrace = 1;  ///< seconds that a case goes on when the user wants the end

struct Difference {
  std::string tensor;
  std::vector<std::int64_t> index;
  Number expected;
  Number got;
  std::optional<std::pair<Number, Number>> allowed;  ///< the bound, rounded to the dtype
};

struct Outcome {
  Verdict verdict = Verdict::skipped;
  std::string reason;
  std::vector<Difference> differences;  ///< the first few
  std::int64_t differing = 0;           ///< elements, of all outputs
  std::int64_t elements = 0;
  std::int64_t indeterminate = 0;  ///< elements that differ and about which nothing is known
  /// The case that is to blame, where that is one which the same worker ran before; this one is
  /// then to be run again.
  std::string earlier_case;
  double error = 0;  ///< the greatest error, as a share of what the bound allows
  /// Of an unsupported case: can_run had accepted it, and run declined.
  bool declined_by_run = false;
  /// A comparison took place that could have failed: passed, failed and the like; not vacuous.
  bool judged() const { return verdict == Verdict::passed || is_failure(verdict); }
};

/// Thrown where a case was given up since the user wants the end. No Error: nothing is wrong.
struct Interrupted {};

constexpr double kWarmUp = 30;  ///< seconds: an interpreter that is loaded, code that is compiled

struct CaseRunOptions {
  std::optional<std::int64_t> memory_limit = {};  ///< bytes; instead of what is available
  /// Subjects run in its workers. Null: in this process, where the verdicts from stale on, threads,
  /// memory and the arithmetic's mode are not looked at.
  std::shared_ptr<Isolation> isolation = nullptr;
  std::optional<double> limit_s = {};  ///< for one call in a worker; else time_limit()
  /// Beyond that for the first call of a kernel in a process, where nothing is known of how long
  /// its library takes to warm up.
  double warm_up_s = kWarmUp;
  /// Bytes that a worker may take for itself; else a GiB, and eight times what the case takes.
  std::optional<std::int64_t> subject_memory = {};
  /// Not 0: the user wants the end. A worker that then takes kGrace longer is ended, and
  /// Interrupted thrown. It may be null.
  const std::atomic<int>* stop = nullptr;
  bool stopping() const { return stop != nullptr && stop->load() != 0; }
  double linger_s = 0.02;  ///< that long a call's new threads are waited for in a worker
  /// A person gave the case: it passes where a drawn one would be vacuous, with that as the reason.
  bool is_given = false;
  bool guard_crashes = false;  ///< a crash prints the case and ends the process with exit code 3
  bool json = false;           ///< it prints that as a line of JSON
};

/// Seconds that a call may take by default: ten, and what 10 million multiply-adds a second take.
double time_limit(double multiply_adds);

/// The data of a case: inputs, and (computed when first needed) what the outputs must be. Several
/// backends can be run on it.
class Prepared {
 public:
  /// Throws Error when the case does not fit into memory, or has no reference.
  explicit Prepared(Case c, CaseRunOptions options = {});
  ~Prepared();
  Prepared(Prepared&&) noexcept;

  const Case& subject_case() const { return case_; }
  const Judgement& judgement() const { return judgement_; }
  double multiply_adds() const { return multiply_adds_; }
  /// "generated kernel", "C compiled by cc", "interpreter".
  const std::string& reference() const;

  /// `backend` may be loaded from `plugin`: both go into the replay line of a crash.
  /// A case whose workspace does not fit into memory is skipped.
  Outcome run(const mote_backend& backend, const std::string& plugin = "");

  /// The backend has a kernel that takes the call, as its can_run and its contract say; it is not
  /// called. True as well where asking ends its process, so that this is seen when it is run.
  bool is_taken_by(const mote_backend& backend);

  struct State;

 private:
  void prepare();
  void fill_inputs();
  Outcome run_here(const mote_backend& backend, const std::string& plugin);
  Outcome run_isolated(const mote_backend& backend);
  Outcome run_where_threads_are_missing(const mote_backend& backend);
  Outcome run_calls(isolate::IsolatedRun& run);
  isolate::Limits limits() const;
  Outcome run_in_worker(isolate::IsolatedRun& run, const mote_contract* contract);
  std::optional<Outcome> leaked_threads(isolate::IsolatedRun& run);
  bool asks_for_other_outputs(std::vector<Dense>& contents) const;
  bool is_stale(isolate::IsolatedRun& run, const std::vector<Dense>& others,
                const mote_contract* contract);
  bool is_right_alone(isolate::IsolatedRun& run, const mote_contract* contract);
  bool is_right_after(isolate::IsolatedRun& run, const std::vector<Dense>& others,
                      const mote_contract* contract);
  bool is_taken_in_worker(const mote_backend& backend);
  bool is_declined(const mote_contract& contract);
  /// Why the kernel is not run on this case; nullopt where it is.
  std::optional<Outcome> refusal(const mote_contract& contract, std::size_t workspace) const;
  Outcome run_kernel(const mote_kernel& kernel, CallFrame& frame, std::optional<CrashGuard>& guard);

  const std::vector<Interval>& intervals(const mote_contract* contract, std::string_view form,
                                         bool open_infinities);
  Outcome judged(const RunResult& first, const RunResult& second, const mote_contract* contract);

  Case case_;
  CaseRunOptions options_;
  Memory memory_;
  Judgement judgement_;
  double multiply_adds_ = 0;
  std::unique_ptr<State> state_;
};

/// The program that replay commands name: "mote", until a tool with ops of its own sets its name.
std::string& replay_program();
/// The shell command that runs a case again, on its backend: mote replay '…'.
std::string replay_command(const Case& c);

}  // namespace mote
