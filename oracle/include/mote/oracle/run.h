// SPDX-License-Identifier: Apache-2.0
// Runs a case: the reference once, each subject twice over outputs and gaps that are poisoned with
// two different patterns; then it gives the verdict. A subject runs in a worker (isolation.h), or
// in this process.
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
struct TensorValues;

enum class Verdict : std::uint8_t {
  passed,
  failed,            ///< other values than expected, or run() returned an error
  unwritten,         ///< an element of an output was never written
  out_of_bounds,     ///< memory before or after a tensor or the workspace was written, or touched
  wrote_gap,         ///< a write between the elements of a strided tensor
  changed_input,     ///< a write to an input
  changed_mode,      ///< the rounding mode or the handling of denormals is different afterwards
  left_threads,      ///< every call leaves a thread behind
  too_much_memory,   ///< it took more than the limit
  nondeterministic,  ///< two runs differ, as when memory is read before it is written
  stale,             ///< the inputs or outputs of an earlier call show in this one
  late_access,       ///< a tensor was written or read after the call had returned
  crashed,           ///< a signal, or the process ended
  hung,              ///< no result within the time limit
  declined,          ///< the backend declines, with a reason
  weak,     ///< nothing is wrong, but nothing is known about more than a few elements either
            ///< (kFewElements)
  vacuous,  ///< passed, but a wrong kernel could pass too: no requested output has an element, or
            ///< zeros are read and zeros are expected
  skipped   ///< not run, with a reason
};
std::string_view name(Verdict verdict);  ///< "out of bounds"
/// The report line that explains weak, vacuous, declined or skipped; empty for the others.
std::string_view meaning(Verdict verdict);
constexpr std::size_t kVerdicts = static_cast<std::size_t>(Verdict::skipped) + 1;
/// True from failed to hung: the subject is wrong.
bool is_failure(Verdict verdict);
/// True for crashed and hung: there is no result.
constexpr bool is_lost(Verdict verdict) {
  return verdict == Verdict::crashed || verdict == Verdict::hung;
}

/// A case that leaves more than this share of its elements indeterminate is weak. Very few cases of
/// correct kernels do (measured, docs/bound.md), so that a loose error bound is seen.
constexpr double kFewElements = 0.1;

constexpr double kGrace = 1;  ///< seconds that a case may go on after the user asks to stop

struct Difference {
  std::string tensor;
  std::vector<std::int64_t> index;
  Number expected;
  Number got;
  std::optional<std::pair<Number, Number>> allowed;  ///< the error bound, rounded to the dtype
};

struct Outcome {
  Verdict verdict = Verdict::skipped;
  std::string reason;
  std::vector<Difference> differences;  ///< the first few
  std::int64_t differing = 0;           ///< elements of all outputs
  std::int64_t elements = 0;
  std::int64_t indeterminate = 0;  ///< elements that differ and about which nothing is known
  /// The case that is to blame, if the same worker ran it before this one; this case must then run
  /// again.
  std::string earlier_case;
  double error = 0;  ///< the greatest error, as a share of what the error bound allows
  /// For an unsupported case: can_run had accepted it, and run declined.
  bool declined_by_run = false;
  /// The outputs of the first run, if CaseRunOptions::keep_outputs asks for those of failures.
  std::shared_ptr<const std::vector<TensorValues>> got = nullptr;
  /// True if a comparison took place that could have failed: passed or failed, but not vacuous.
  bool judged() const { return verdict == Verdict::passed || is_failure(verdict); }
};

/// Thrown when a case is given up because the user asks to stop. It is not an Error: nothing is
/// wrong.
struct Interrupted {};

constexpr double kWarmUp = 30;  ///< seconds: loading an interpreter, compiling code

struct CaseRunOptions {
  std::optional<std::int64_t> memory_limit = {};  ///< bytes; default: the available memory
  /// Subjects run in its workers. Null: in this process, which does not check for the verdicts from
  /// stale on, threads, memory or the mode of the arithmetic.
  std::shared_ptr<Isolation> isolation = nullptr;
  std::optional<double> limit_s = {};  ///< the time of one call in a worker; default: time_limit()
  /// The additional time for the first call of a kernel in a process, while the warm-up time of its
  /// library is unknown.
  double warm_up_s = kWarmUp;
  /// The bytes that a worker may allocate; default: a GiB, and eight times what the case takes.
  std::optional<std::int64_t> subject_memory = {};
  /// Nonzero when the user asks to stop. A worker that then takes longer than kGrace is ended, and
  /// Interrupted is thrown. May be null.
  const std::atomic<int>* stop = nullptr;
  bool stopping() const { return stop != nullptr && stop->load() != 0; }
  double linger_s = 0.02;  ///< the time that a worker waits for a call's new threads to end
  /// A person gave the case: if it would be vacuous, it passes, with that as the reason.
  bool is_given = false;
  bool keep_outputs = false;   ///< a failure's outcome has what the subject gave
  bool guard_crashes = false;  ///< a crash prints the case and ends the process with exit code 3
  bool json = false;           ///< the crash is printed as a line of JSON
};

/// The default time limit of a call in seconds: ten, plus a second for every 10 million
/// multiply-adds.
double time_limit(double multiply_adds);

/// The data of a case: its inputs and (computed when first needed) its expected outputs. Several
/// backends can run on it.
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

  /// Runs the case on `backend`, which may be loaded from `plugin`: both go into the replay line of
  /// a crash. A case whose workspace does not fit into memory is skipped.
  Outcome run(const mote_backend& backend, const std::string& plugin = "");

  /// True if the backend has a kernel that takes the call, according to its can_run and its
  /// contract; the kernel is not called. Also true if asking ends its process, so that run() shows
  /// this.
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
  /// The reason not to run the kernel on this case; nullopt if it runs.
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

/// The program that replay commands name: "mote", unless a tool with ops of its own sets its name.
std::string& replay_program();
/// The shell command that runs a case again, on its backend: mote replay '…'.
std::string replay_command(const Case& c);

}  // namespace mote
