// SPDX-License-Identifier: Apache-2.0
// A campaign runs many cases of some ops against some backends within a budget of time or a number
// of cases. Failures are shrunk; everything is counted by op, dtype and backend.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/oracle/backends.h"
#include "mote/oracle/coverage.h"
#include "mote/oracle/diagnosis.h"
#include "mote/oracle/run.h"

namespace MOTE_API mote {

/// The part of a campaign's cases whose number is `index` modulo `count`.
struct Shard {
  std::uint64_t index = 0;
  std::uint64_t count = 1;
};
/// Parses "2/8", counted from 0. Throws Error.
Shard parse_shard(const std::string& text);
/// Shard $GTEST_SHARD_INDEX of $GTEST_TOTAL_SHARDS; the only one if they are not set. Throws Error.
Shard shard_of_environment();

/// The progress of a campaign.
struct CampaignProgress {
  double seconds = 0;             ///< the time since its start
  std::optional<double> until_s;  ///< the time when random cases end, if it is known
  std::int64_t cases = 0;         ///< cases done
  std::int64_t planned = 0;       ///< cases to run; 0: as many as the time allows
  std::int64_t judged = 0;
  std::int64_t failed = 0;    ///< cases that failed
  std::int64_t failures = 0;  ///< different failures
  std::string op = {};        ///< the current op
  bool shrinking = false;     ///< a failure of the op is being made smaller
};

/// A failure when it is found, before it is made smaller.
struct FoundFailure {
  Case first;  ///< the case, with its backend
  Outcome outcome;
  double found_after_s = 0;
};

struct Failure;

struct CampaignOptions {
  std::vector<std::string> ops;  ///< ops or program files; empty: all ops with a kernel
  std::vector<BackendEntry> backends;
  /// They are asked about the smallest case of each failure; they may be among `backends`.
  std::vector<BackendEntry> peers;
  std::vector<DType> dtypes;          ///< only these; empty: all, or a program file's own
  std::vector<Case> cases;            ///< run first; each counts in the table
  std::optional<double> budget_s;     ///< random cases run for that time
  std::optional<std::int64_t> count;  ///< random cases of each op; with a budget, the maximum
  std::uint64_t seed = 0;
  Shard shard;
  /// Sizes by name that random cases have instead of drawn ones: {{"C", 1}}.
  std::map<std::string, std::int64_t> extents = {};
  /// A file to which each case is written before it runs, and its results after that. If the file
  /// exists, the cases in it are counted and not run again. Empty: no journal.
  std::string journal;
  std::string corpus;               ///< a folder to which new failures are added; empty: none
  std::optional<int> max_failures;  ///< stop after that many different failures
  /// The maximum time to shrink a failure, and again to diagnose it; default: ShrinkLimits'.
  std::optional<double> shrink_s;
  CaseRunOptions run;
  /// Called before and after each case.
  std::function<void(const CampaignProgress&)> progress = {};
  /// Called once for each different failure: when it is found, and when it has been made smaller.
  std::function<void(const FoundFailure&)> found = {};
  std::function<void(const Failure&)> failure = {};
};

constexpr double kLargeCase = 1000;  ///< multiply_adds(), or elements of an op without sums

/// If nothing is known about more than this share of a row's elements and nothing failed, no case
/// of the row counts as judged: its passed cases become weak.
constexpr double kMostlyUnknown = 0.5;

/// Cases that were declined for one kind of reason.
struct Declined {
  std::int64_t count = 0;
  std::string example;  ///< the first reason
};
/// The reason without what differs from case to case: "x f16[18,2]" is "x f16[…]".
std::string reason_kind(const std::string& reason);

/// One line of the table.
struct Row {
  std::string op;
  DType dtype = DType::f32;
  std::string backend;
  std::array<std::int64_t, kVerdicts> counts{};
  std::int64_t judged = 0;
  std::int64_t judged_large = 0;      ///< cases of kLargeCase or more
  std::int64_t elements = 0;          ///< elements of cases that passed, failed or are weak
  std::int64_t indeterminate = 0;     ///< the number of these about which nothing is known
  std::map<FillKind, double> errors;  ///< the greatest error / bound with each kind of data
  std::string reason;                 ///< the first reason of a declined, skipped or weak case
  /// The reasons for declined cases, without sizes (reason_kind()), and their counts.
  std::map<std::string, Declined> declined;
  std::int64_t declined_by_run = 0;  ///< declined by run after can_run had accepted
  std::int64_t noted = 0;            ///< cases that passed with a note
  std::string note;                  ///< the note of the first such case
  CellCounts cells;                  ///< the cells of its cases
  double error() const;              ///< the greatest error of all kinds
  std::int64_t count(Verdict v) const { return counts[static_cast<std::size_t>(v)]; }
  std::int64_t failures() const;
  std::int64_t cases() const;  ///< the number of cases of all verdicts
  /// The number of cases that were run.
  std::int64_t accepted() const;
  /// True if run declined more than kFewDeclined of them, so that not enough was judged.
  bool declines_late() const;
};

/// The share of the cases accepted by can_run that run may decline.
constexpr double kFewDeclined = 0.1;

/// The result of another backend on the smallest case of a failure.
struct Peer {
  std::string backend;
  Verdict verdict = Verdict::skipped;  ///< declined: it declines, or has no kernel
  std::string reason;
};
/// "other backends agree with the reference: openblas; declined: gen (no kernel for gemm)"; empty
/// without peers.
std::string peers_text(const std::vector<Peer>& peers);

/// The failures of one backend on one op with one verdict: the first case, and the smallest.
struct Failure {
  Case first;
  Case smallest;
  Outcome first_outcome;  ///< the outcome of the first case in the campaign
  Outcome outcome;        ///< the outcome of the smallest case
  Diagnosis diagnosis;
  std::vector<Peer> peers;  ///< results on the smallest case
  int tries = 0;
  /// The text of the smallest case with as few nonzero elements as possible, and its first
  /// difference; empty if most elements are needed.
  std::string sparsest = {};
  std::string sparsest_text = {};  ///< "y[0,0]: expected 1, got 0"
  std::string not_smaller;         ///< the reason if its inputs have more than kSmallCase elements
  /// "fails only after other calls in the same process" if no case was found that fails in a fresh
  /// process; empty if the smallest case does.
  std::string only_after = {};
  std::int64_t occurrences = 1;
  double found_after_s = 0;
};

struct CampaignResult {
  std::vector<Row> rows;  ///< ordered by op, dtype, backend
  std::vector<Failure> failures;
  std::map<std::string, std::vector<std::string>> without_kernel;  ///< ops by backend
  double seconds = 0;
  bool ended_early = false;  ///< everything that was asked for had failed before the time was over
  bool interrupted = false;  ///< CaseRunOptions::stop ended it
  std::vector<Coverage> coverage = {};  ///< empty until the caller stores coverage_of() here
};

/// Runs a campaign. Throws Error for ops that do not exist, and for a journal of another campaign.
CampaignResult run_campaign(const CampaignOptions& options);
/// The ops of its random cases. Throws Error for one that does not exist.
std::vector<std::shared_ptr<const Target>> targets_of(const CampaignOptions& options);
/// The number of listed and counted cases to run; 0 if only the time ends the campaign.
std::int64_t planned_cases(const CampaignOptions& options);
/// The dtypes of its random cases of the target.
std::vector<DType> dtypes_of(const CampaignOptions& options, const Target& target);
/// The coverage of the rows, and of the ops and dtypes whose random cases were asked for.
std::vector<Coverage> coverage_of(const CampaignOptions& options, const CampaignResult& result);
/// The seed of the campaign that wrote the journal; nullopt without a journal.
std::optional<std::uint64_t> journal_seed(const std::string& path);

/// The merged state of campaigns that run in other processes, read from their journals.
class JournalWatch {
 public:
  explicit JournalWatch(const std::vector<std::string>& paths);
  ~JournalWatch();
  JournalWatch(const JournalWatch&) = delete;
  JournalWatch& operator=(const JournalWatch&) = delete;

  /// Reads what was written since the last call and passes it to the callbacks of `told`: progress,
  /// found and failure. A failure that several campaigns have is passed once. Throws Error for a
  /// file that is not a journal; a journal that does not exist yet is no error.
  void look(const CampaignOptions& told);
  CampaignResult result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
/// The merged result of the campaigns that wrote the journals. Throws Error if one cannot be read.
CampaignResult merge_journals(const std::vector<std::string>& paths);
/// The cases of a corpus, by the names of their files; none without the folder.
std::vector<Case> read_corpus(const std::string& folder);

/// Shrinks and diagnoses a case that fails on one backend; the case need not be generated.
/// Shrinking takes at most `most_s` if that is given; with 0 the case stays as it is and is not
/// diagnosed.
Failure shrink_failure(const Case& c, const BackendEntry& backend, Verdict verdict,
                       const CaseRunOptions& options, std::optional<double> most_s = {});

/// 0: passed; 3: a crash or a hang; 1: another failure; 4: no case was judged, or (with
/// each_must_judge) a backend judged none, or run declined too many cases that can_run had
/// accepted; 77: there is no backend.
int exit_code(const CampaignResult& result, const std::vector<BackendEntry>& backends,
              bool each_must_judge);

}  // namespace mote
