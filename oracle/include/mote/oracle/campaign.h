// SPDX-License-Identifier: Apache-2.0
// A campaign: many cases of some ops against some backends, within a budget of time or a number of
// cases. Failures are shrunk; everything is counted by op, dtype and backend.
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
/// "2/8", counted from 0. Throws Error.
Shard parse_shard(const std::string& text);
/// $GTEST_SHARD_INDEX of $GTEST_TOTAL_SHARDS; all where they are not set. Throws Error.
Shard shard_of_environment();

/// How far a campaign is.
struct CampaignProgress {
  double seconds = 0;             ///< since it began
  std::optional<double> until_s;  ///< then random cases end, where that is known
  std::int64_t cases = 0;         ///< done
  std::int64_t planned = 0;       ///< cases; 0: as many as the time allows
  std::int64_t judged = 0;
  std::int64_t failed = 0;    ///< cases
  std::int64_t failures = 0;  ///< different ones
  std::string op = {};        ///< in work
  bool shrinking = false;     ///< a failure of it is made smaller
};

/// A failure as it is met, before it is made smaller.
struct FoundFailure {
  Case first;  ///< with the backend
  Outcome outcome;
  double found_after_s = 0;
};

struct Failure;

struct CampaignOptions {
  std::vector<std::string> ops;  ///< or program files; empty: whatever a backend has a kernel for
  std::vector<BackendEntry> backends;
  /// Asked about the smallest case of each failure, beside `backends` or among them.
  std::vector<BackendEntry> peers;
  std::vector<DType> dtypes;          ///< only these; empty: all, of a program file its own
  std::vector<Case> cases;            ///< run first; each leaves its mark in the table
  std::optional<double> budget_s;     ///< random cases until then
  std::optional<std::int64_t> count;  ///< random cases of each op; with a budget, at most
  std::uint64_t seed = 0;
  Shard shard;
  /// A file to which each case is written before it runs, and its results after that; where it is
  /// there already, what it says was done is counted and not done again. Empty: none.
  std::string journal;
  std::string corpus;               ///< a folder to which new failures are added; empty: none
  std::optional<int> max_failures;  ///< stop after that many different failures
  std::optional<double> shrink_s;   ///< most time to make a failure smaller; else ShrinkLimits'
  CaseRunOptions run;
  /// Called before and after each case.
  std::function<void(const CampaignProgress&)> progress = {};
  /// Called once for each different failure: when it is met, and when it has been made smaller.
  std::function<void(const FoundFailure&)> found = {};
  std::function<void(const Failure&)> failure = {};
};

constexpr double kLargeCase = 1000;  ///< multiply_adds(), or elements of an op that sums nothing

/// Where nothing is known about more than this share of a row's elements, and nothing failed, no
/// case of the row counts as judged: its passed cases become weak.
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
  std::int64_t judged_large = 0;      ///< with kLargeCase or more of them
  std::int64_t elements = 0;          ///< of the cases that passed, failed or are weak
  std::int64_t indeterminate = 0;     ///< of these: about which nothing is known
  std::map<FillKind, double> errors;  ///< the greatest error / bound with each kind of data
  std::string reason;                 ///< the first for which a case was declined, skipped, weak
  /// Why cases were declined, by the reason without its sizes (reason_kind()).
  std::map<std::string, Declined> declined;
  std::int64_t declined_by_run = 0;  ///< by run, after can_run had accepted
  std::int64_t noted = 0;            ///< cases that passed with a note
  std::string note;                  ///< the first case and its note
  CellCounts cells;                  ///< of its cases
  double error() const;              ///< the greatest of all
  std::int64_t count(Verdict v) const { return counts[static_cast<std::size_t>(v)]; }
  std::int64_t failures() const;
  std::int64_t cases() const;  ///< of all verdicts
  /// Those that were run.
  std::int64_t accepted() const;
  /// More than kFewDeclined of them were declined by run, so that not enough was judged.
  bool declines_late() const;
};

/// The share of the cases accepted by can_run that run may decline.
constexpr double kFewDeclined = 0.1;

/// What another backend gives on the smallest case of a failure.
struct Peer {
  std::string backend;
  Verdict verdict = Verdict::skipped;  ///< declined: it declines, or has no kernel
  std::string reason;
};
/// "other backends agree with the reference: openblas; declined: gen (no kernel for gemm)"; empty
/// where there is none.
std::string peers_text(const std::vector<Peer>& peers);

/// Failures of one backend on one op with one verdict: the first, and what it shrank to.
struct Failure {
  Case first;
  Case smallest;
  Outcome first_outcome;  ///< where a campaign met it
  Outcome outcome;        ///< of the smallest
  Diagnosis diagnosis;
  std::vector<Peer> peers;  ///< on the smallest
  int tries = 0;
  /// The smallest with as few elements as possible that are not 0, as its text, and what is wrong
  /// then; empty where most are needed.
  std::string sparsest = {};
  std::string sparsest_text = {};  ///< "y[0,0]: expected 1, got 0"
  std::string not_smaller;         ///< why its inputs have more than kSmallCase elements
  /// "fails only after other calls in the same process": no case was found that fails in a process
  /// in which nothing ran before; empty: the smallest does.
  std::string only_after = {};
  std::int64_t occurrences = 1;
  double found_after_s = 0;
};

struct CampaignResult {
  std::vector<Row> rows;  ///< by op, dtype, backend
  std::vector<Failure> failures;
  std::map<std::string, std::vector<std::string>> without_kernel;  ///< backends, and the ops
  double seconds = 0;
  bool ended_early = false;  ///< all that was asked for had failed before the time was over
  bool interrupted = false;  ///< by CaseRunOptions::stop
  std::vector<Coverage> coverage = {};  ///< empty where nobody asked coverage_of()
};

/// Throws Error for ops that do not exist, and for a journal that is of another campaign.
CampaignResult run_campaign(const CampaignOptions& options);
/// The ops that its random cases are of. Throws Error for one that does not exist.
std::vector<std::shared_ptr<const Target>> targets_of(const CampaignOptions& options);
/// How many cases there are to run, of those that are listed and those that are counted; 0 where
/// only the time ends it.
std::int64_t planned_cases(const CampaignOptions& options);
/// The dtypes that its random cases of the target are of.
std::vector<DType> dtypes_of(const CampaignOptions& options, const Target& target);
/// What was executed of the rows, and of the ops and dtypes that random cases were to be drawn of.
std::vector<Coverage> coverage_of(const CampaignOptions& options, const CampaignResult& result);
/// The seed of the campaign that wrote the journal; nullopt where there is none.
std::optional<std::uint64_t> journal_seed(const std::string& path);

/// Campaigns that run in other processes, seen through their journals as one.
class JournalWatch {
 public:
  explicit JournalWatch(const std::vector<std::string>& paths);
  ~JournalWatch();
  JournalWatch(const JournalWatch&) = delete;
  JournalWatch& operator=(const JournalWatch&) = delete;

  /// Takes what was written since, and tells `told` of it: its progress, found and failure. A
  /// failure that several campaigns have is told once. Throws Error for what is no journal; one
  /// that is not there yet is no mistake.
  void look(const CampaignOptions& told);
  CampaignResult result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
/// The campaigns that wrote the journals, as one. Throws Error where one cannot be read.
CampaignResult merge_journals(const std::vector<std::string>& paths);
/// The cases of a corpus, by the names of their files; none where there is no folder.
std::vector<Case> read_corpus(const std::string& folder);

/// One case on one backend; the case need not be generated. The failure is shrunk, for at most
/// `most_s` where that is given; for 0 it stays as it is, and is not diagnosed.
Failure shrink_failure(const Case& c, const BackendEntry& backend, Verdict verdict,
                       const CaseRunOptions& options, std::optional<double> most_s = {});

/// 0 passed, 3 a crash or a hang, 1 another failure, 4 a backend (each one that was requested by
/// name) judged no case, or its run declined too many that can_run had accepted, 77 there is no
/// backend.
int exit_code(const CampaignResult& result, const std::vector<BackendEntry>& backends,
              bool each_must_judge);

}  // namespace mote
