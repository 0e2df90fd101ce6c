// Running a case: the reference once, each subject twice over outputs and gaps that are poisoned
// with two different patterns; then the verdict.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/base/kernel.h"
#include "mote/oracle/case.h"
#include "mote/oracle/exactness.h"
#include "mote/oracle/memory.h"

namespace MOTE_API mote {

class CallFrame;
struct Interval;
struct RunResult;
class CrashGuard;

enum class Verdict : std::uint8_t {
  passed,
  failed,            ///< other values than expected, or run() returned an error
  unwritten,         ///< an element of an output was never written
  out_of_bounds,     ///< a write beside the elements, or to an input
  nondeterministic,  ///< two runs differ, as when memory is read before it is written
  unsupported,       ///< the backend declines, with a reason
  weak,              ///< nothing is wrong, but nothing is known either about more than a few
                     ///< elements (kFewElements)
  vacuous,           ///< passed, but zeros, one number everywhere or a copy of an input would have
                     ///< passed too, or there is no element
  skipped            ///< not run, with a reason
};
std::string_view name(Verdict verdict);  ///< "out of bounds"
/// failed, unwritten, out_of_bounds, nondeterministic.
bool is_failure(Verdict verdict);

/// A case that leaves more than this share of its elements indeterminate is weak: very few cases of
/// correct kernels do (measured, docs/bound.md), so that a bound that says little is seen.
constexpr double kFewElements = 0.1;

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
  double error = 0;                ///< the greatest error, as a share of what the bound allows
  /// A comparison took place that could have failed: passed, failed and the like; not vacuous.
  bool judged() const { return verdict == Verdict::passed || is_failure(verdict); }
};

struct CaseRunOptions {
  std::optional<std::int64_t> memory_limit;  ///< bytes; instead of what is available
  bool guard_crashes = false;  ///< a crash prints the case and ends the process with exit code 3
  bool json = false;           ///< it prints that as a line of JSON
};

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

 private:
  void prepare();
  Outcome run_kernel(const mote_kernel& kernel, CallFrame& frame, std::optional<CrashGuard>& guard);

  const std::vector<Interval>& intervals(const mote_contract* contract);
  Outcome judged(const RunResult& first, const RunResult& second, const mote_contract* contract);

  struct State;
  Case case_;
  CaseRunOptions options_;
  Memory memory_;
  Judgement judgement_;
  double multiply_adds_ = 0;
  std::unique_ptr<State> state_;
};

/// The shell command that runs a case again, on its backend: mote replay '…'.
std::string replay_command(const Case& c);

}  // namespace mote
