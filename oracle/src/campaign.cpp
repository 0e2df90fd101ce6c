// The scheduler of campaigns: each op gets the same share of time, and within it each dtype; a
// stream of cases that every backend declines comes to an end.
#include "mote/oracle/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>

#include "crash.h"
#include "mote/base/error.h"
#include "mote/oracle/generate.h"
#include "mote/oracle/report.h"
#include "mote/oracle/shrink.h"

namespace mote {
namespace {

constexpr std::int64_t kDeclinesThatEndAStream = 24;
constexpr std::int64_t kDeclinesThatEndABudget = 500;
constexpr double kDeclinedWeighs = 10;        ///< the time of streams that nobody has accepted yet
constexpr std::int64_t kReportsOfEach = 200;  ///< cases after each of which a report is kept
constexpr double kReportEvery = 0.1;          ///< seconds, later

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Cases of one op and dtype.
struct Stream {
  std::shared_ptr<const Target> target;
  DType dtype;
  std::uint64_t position = 0;
  std::int64_t declined = 0;
  bool accepted = false;
  double seconds = 0;
  std::int64_t most_declined = kDeclinesThatEndAStream;
  bool ended() const { return !accepted && declined >= most_declined; }
};

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options)
      : options_(options), start_(std::chrono::steady_clock::now()) {}

  CampaignResult run() {
    find_targets();
    run_cases();
    if (options_.budget_s || options_.count) run_random();
    set_crash_report("");
    for (auto& [key, row] : rows_) result_.rows.push_back(std::move(row));
    note_without_kernel();
    result_.seconds = seconds_since(start_);
    return std::move(result_);
  }

 private:
  void find_targets() {
    std::vector<std::string> names = options_.ops;
    if (names.empty()) {
      for (const OpRecord* record : generated_ops()) {
        if (offered(record->name)) names.push_back(record->name);
      }
    }
    for (const std::string& name : names) {
      const auto target = find_target(name);
      if (std::ranges::find(targets_, target) != targets_.end()) continue;
      targets_.push_back(target);
    }
  }

  /// Ops that no random case ran for; those of a listed case have a row.
  void note_without_kernel() {
    for (const auto& target : targets_) {
      for (const BackendEntry& e : options_.backends) {
        const bool has_row = std::ranges::any_of(result_.rows, [&](const Row& row) {
          return row.op == target->text() && row.backend == e.name();
        });
        if (has_row || has_kernel(*e.backend, target->op())) continue;
        result_.without_kernel.push_back(
            fmt::format("{} has no kernel for {}", e.name(), target->op()));
      }
    }
  }

  bool offered(std::string_view op) const {
    return std::ranges::any_of(options_.backends,
                               [&](const BackendEntry& e) { return has_kernel(*e.backend, op); });
  }

  bool wanted(const Target& target) const {
    return options_.ops.empty() ||
           std::ranges::any_of(targets_, [&](const auto& t) { return t->text() == target.text(); });
  }

  void run_cases() {
    for (const Case& c : options_.cases) {
      const bool dtype_wanted = !options_.dtype || *options_.dtype == c.instance.dtype;
      if (!wanted(*c.target) || !dtype_wanted) continue;
      if (stopped()) return;
      run_case(c);
      note_declined(c);
    }
  }

  /// A case that was asked for by name is counted where there is nothing that could run it too.
  void note_declined(const Case& c) {
    bool checked = false;
    for (const BackendEntry& e : options_.backends) {
      if (!c.backend.empty() && c.backend != e.name()) continue;
      checked = true;
      if (has_kernel(*e.backend, c.target->op())) continue;
      Outcome declined;
      declined.verdict = Verdict::unsupported;
      declined.reason = "no kernel for " + c.target->op();
      record(c, e.name(), declined, 0);
    }
    if (checked) return;
    Outcome skipped;
    skipped.reason = fmt::format("backend {} is not among those that are checked", c.backend);
    record(c, c.backend, skipped, 0);
  }

  void run_random() {
    std::vector<std::vector<Stream>> ops;
    for (const auto& target : targets_) {
      if (!offered(target->op())) continue;
      std::vector<Stream>& streams = ops.emplace_back();
      for (const DType dtype : target->dtypes()) {
        if (options_.dtype && *options_.dtype != dtype) continue;
        streams.push_back({target, dtype});
        if (!options_.count) streams.back().most_declined = kDeclinesThatEndABudget;
      }
    }
    if (options_.count) {
      for (std::vector<Stream>& streams : ops) run_count(streams, *options_.count);
    } else {
      run_budget(ops, seconds_since(start_) + *options_.budget_s);
    }
  }

  /// Dtype by dtype, so that the same cases run whatever the time.
  void run_count(std::vector<Stream>& streams, std::int64_t count) {
    for (std::int64_t k = 0; k < count && !stopped(); ++k) {
      const std::vector<Stream*> live = live_streams(streams);
      if (live.empty()) return;
      advance(**std::ranges::min_element(live, {}, &Stream::position));
    }
  }

  void run_budget(std::vector<std::vector<Stream>>& ops, double until) {
    while (!stopped() && seconds_since(start_) < until) {
      Stream* stream = least_served(ops);
      if (stream == nullptr) return;
      advance(*stream);
    }
  }

  static std::vector<Stream*> live_streams(std::vector<Stream>& streams) {
    std::vector<Stream*> live;
    for (Stream& s : streams) {
      if (!s.ended()) live.push_back(&s);
    }
    return live;
  }

  static Stream* least_served(std::vector<std::vector<Stream>>& ops) {
    Stream* next = nullptr;
    double least = 0;
    for (std::vector<Stream>& streams : ops) {
      const std::vector<Stream*> live = live_streams(streams);
      if (live.empty()) continue;
      double seconds = 0;
      for (const Stream& s : streams) seconds += s.seconds;
      if (next != nullptr && seconds >= least) continue;
      least = seconds;
      next = *std::ranges::min_element(live, {}, &Stream::seconds);
    }
    return next;
  }

  void advance(Stream& stream) {
    const auto begin = std::chrono::steady_clock::now();
    const Case c = generate(stream.target, stream.dtype, options_.seed, stream.position++);
    const bool accepted = run_case(c);
    stream.accepted = stream.accepted || accepted;
    stream.declined += accepted ? 0 : 1;
    stream.seconds += seconds_since(begin) * (stream.accepted ? 1 : kDeclinedWeighs);
  }

  /// On every backend; true when one took it.
  bool run_case(const Case& c) {
    std::optional<Prepared> prepared;
    bool accepted = false;
    for (const BackendEntry& e : options_.backends) {
      if (!c.backend.empty() && c.backend != e.name()) continue;
      if (!has_kernel(*e.backend, c.target->op())) continue;
      try {
        if (!prepared) prepared.emplace(c, options_.run);
      } catch (const Error& error) {
        Outcome skipped;
        skipped.reason = error.what();
        record(c, e.name(), skipped, 0);
        return false;
      }
      const Outcome outcome = run_on(*prepared, e);
      accepted = accepted || outcome.verdict != Verdict::unsupported;
      record(c, e.name(), outcome, prepared->multiply_adds());
      if (is_failure(outcome.verdict)) note_failure(c, e, outcome);
    }
    if (options_.progress) options_.progress(seconds_since(start_), judged_, failed_);
    return accepted;
  }

  /// Again, where a case before it had left something behind that ended its worker.
  Outcome run_on(Prepared& prepared, const BackendEntry& e) {
    Outcome outcome = prepared.run(*e.backend, e.plugin);
    if (outcome.earlier_case.empty()) return outcome;
    const Case earlier = parse_case(outcome.earlier_case);
    record(earlier, e.name(), outcome, 0);
    Outcome of_earlier;  // its values were right: what it did came later
    of_earlier.verdict = outcome.verdict;
    note_failure(earlier, e, of_earlier);
    return prepared.run(*e.backend, e.plugin);
  }

  void record(const Case& c, const std::string& backend, const Outcome& outcome, double work) {
    Row& row = rows_[{c.target->text(), c.instance.dtype, backend}];
    row.op = c.target->text();
    row.dtype = c.instance.dtype;
    row.backend = backend;
    ++ran_;
    ++row.counts[static_cast<std::size_t>(outcome.verdict)];
    row.indeterminate += outcome.indeterminate;
    double& error = row.errors[c.fill.kind];
    error = std::max(error, outcome.error);
    if (outcome.judged()) {
      ++judged_;
      ++row.judged;
      if (work >= kLargeCase) ++row.judged_large;
    } else if (row.reason.empty() ||
               (outcome.verdict == Verdict::skipped && row.count(Verdict::skipped) == 1)) {
      row.reason = outcome.reason;
    }
    if (is_failure(outcome.verdict)) ++failed_;
    keep_report();
  }

  /// What a crash prints: exact for the first cases, then a little behind.
  void keep_report() {
    if (!options_.run.guard_crashes) return;
    const double now = seconds_since(start_);
    if (ran_ > kReportsOfEach && now - reported_after_s_ < kReportEvery) return;
    reported_after_s_ = now;
    CampaignResult so_far;
    for (const auto& [key, row] : rows_) so_far.rows.push_back(row);
    so_far.failures = result_.failures;
    set_crash_report(options_.run.json ? progress_json(so_far, ran_) : progress_text(so_far, ran_));
  }

  void note_failure(const Case& c, const BackendEntry& e, const Outcome& outcome) {
    for (Failure& f : result_.failures) {
      const bool same = f.smallest.target == c.target && f.smallest.backend == e.name() &&
                        f.outcome.verdict == outcome.verdict;
      if (!same) continue;
      ++f.occurrences;
      return;
    }
    const double found = seconds_since(start_);
    result_.failures.push_back(shrink_failure(c, e, outcome.verdict, options_.run));
    result_.failures.back().first_outcome = outcome;
    result_.failures.back().found_after_s = found;
    reported_after_s_ = 0;
  }

  bool stopped() const {
    return options_.max_failures &&
           result_.failures.size() >= static_cast<std::size_t>(*options_.max_failures);
  }

  const CampaignOptions& options_;
  std::chrono::steady_clock::time_point start_;
  std::vector<std::shared_ptr<const Target>> targets_;
  std::map<std::tuple<std::string, DType, std::string>, Row> rows_;
  CampaignResult result_;
  std::int64_t ran_ = 0;
  std::int64_t judged_ = 0;
  std::int64_t failed_ = 0;
  double reported_after_s_ = 0;
};

/// Each try of a case that hangs takes its time limit.
constexpr int kTriesOfHangs = 40;
constexpr double kLimitOfHangs = 1;
/// So long a write that comes late is waited for while its case becomes smaller.
constexpr double kLingerForLate = 0.2;

ShrinkLimits limits_for(Verdict verdict) {
  ShrinkLimits limits;
  if (verdict == Verdict::hung) limits.tries = kTriesOfHangs;
  return limits;
}

CaseRunOptions options_for_tries(CaseRunOptions options, Verdict verdict) {
  if (verdict == Verdict::hung)
    options.limit_s = std::min(options.limit_s.value_or(kLimitOfHangs), kLimitOfHangs);
  if (verdict == Verdict::late_access)
    options.linger_s = std::max(options.linger_s, kLingerForLate);
  return options;
}

}  // namespace

std::int64_t Row::failures() const {
  std::int64_t sum = 0;
  for (std::size_t v = 0; v < kVerdicts; ++v) {
    if (is_failure(static_cast<Verdict>(v))) sum += counts[v];
  }
  return sum;
}

double Row::error() const {
  double greatest = 0;
  for (const auto& [fill, error] : errors) greatest = std::max(greatest, error);
  return greatest;
}

CampaignResult run_campaign(const CampaignOptions& options) { return Campaign(options).run(); }

Failure shrink_failure(const Case& c, const BackendEntry& backend, Verdict verdict,
                       const CaseRunOptions& options) {
  const auto outcome_of = [&](const Case& candidate, const CaseRunOptions& with) {
    return Prepared(candidate, with).run(*backend.backend, backend.plugin);
  };
  const CaseRunOptions trying = options_for_tries(options, verdict);
  const auto fails = [&](const Case& candidate) {
    try {
      return outcome_of(candidate, trying).verdict == verdict;
    } catch (const Error&) {  // does not fit into memory: no smaller case
      return false;
    }
  };
  Failure failure;
  failure.first = c;
  failure.first.backend = backend.name();
  failure.first.plugin = backend.plugin;
  const Shrunk shrunk = shrink(failure.first, fails, limits_for(verdict));
  failure.smallest = shrunk.smallest;
  failure.tries = shrunk.tries;
  failure.not_smaller = shrunk.reason;
  failure.outcome = outcome_of(failure.smallest, trying);
  if (failure.outcome.verdict != verdict) {
    failure.outcome.verdict = verdict;
    failure.outcome.reason = "not seen again when the smallest case was run once more";
  } else if (verdict != Verdict::hung) {
    failure.diagnosis = diagnose(failure.smallest, failure.outcome, [&](const Case& candidate) {
      return outcome_of(candidate, trying);
    });
  }
  return failure;
}

int exit_code(const CampaignResult& result, const std::vector<BackendEntry>& backends,
              bool each_must_judge) {
  if (backends.empty()) return 77;
  std::map<std::string, std::int64_t> judged;
  std::int64_t total = 0;
  const auto any = [&](const auto& is) { return std::ranges::any_of(result.rows, is); };
  const auto lost = [](const Row& r) {
    return r.count(Verdict::crashed) + r.count(Verdict::hung) > 0;
  };
  if (any(lost)) return 3;
  if (any([](const Row& r) { return r.failures() > 0; })) return 1;
  for (const Row& row : result.rows) {
    judged[row.backend] += row.judged;
    total += row.judged;
  }
  const bool all =
      std::ranges::all_of(backends, [&](const BackendEntry& e) { return judged[e.name()] > 0; });
  return total == 0 || (each_must_judge && !all) ? 4 : 0;
}

}  // namespace mote
