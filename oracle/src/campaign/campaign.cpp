// SPDX-License-Identifier: Apache-2.0
// Runs a campaign: it runs cases, counts them, writes the journal and shrinks failures. The
// schedule (case_schedule.h) says which case is next. A draw that a backend declines is replaced by
// one that it takes (redraw.h).
#include "mote/oracle/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "campaign/case_schedule.h"
#include "campaign/corpus.h"
#include "campaign/plan.h"
#include "campaign/tally.h"
#include "case/indices.h"
#include "isolate/crash.h"
#include "isolate/isolation_state.h"
#include "mote/base/error.h"
#include "mote/oracle/generate.h"
#include "mote/oracle/report.h"
#include "run/peers.h"

namespace mote {
namespace {

constexpr std::int64_t kReportsOfEach = 200;  ///< cases after each of which a report is kept
constexpr double kReportEvery = 0.1;          ///< seconds between reports after that
constexpr double kDeclinedWeighs = 10;        ///< factor on the time of streams not yet accepted

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A position of a stream.
struct Draw {
  CaseStream& stream;
  std::uint64_t position;
};

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options)
      : options_(options), start_(std::chrono::steady_clock::now()) {}

  CampaignResult run() {
    targets_ = targets_of(options_);
    progress_.planned = planned_cases(options_);
    resume();
    try {
      run_cases();
      if (options_.budget_s || options_.count) run_random();
    } catch (const Interrupted&) {  // the interrupted case does not count
    }
    set_crash_report("");
    result_.interrupted = options_.run.stopping();
    result_.rows = tally_.rows();
    result_.failures = tally_.failures();
    note_without_kernel();
    if (journal_) journal_->end(result_);
    result_.seconds = seconds_since(start_);
    return std::move(result_);
  }

 private:
  /// Notes the ops without a kernel; those of a listed case have a row.
  void note_without_kernel() {
    for (const auto& target : targets_) {
      for (const BackendEntry& e : options_.backends) {
        const bool has_row = std::ranges::any_of(result_.rows, [&](const Row& row) {
          return row.op == target->text() && row.backend == e.name();
        });
        const bool of_another = !e.program.empty() && e.program != target->text();
        if (has_row || of_another || has_kernel(e, *target)) continue;
        result_.without_kernel[e.name()].push_back(target->op());
      }
    }
  }

  void run_cases() {
    for (const Case& c : options_.cases) {
      const std::string text = to_string(c);
      if (!is_asked_for(options_, c, targets_)) continue;
      if (stopped()) return;
      if (listed_done_.contains(text)) continue;
      run_case(c);
      note_declined(c);
      finish({.listed = text});
    }
  }

  /// Counts a listed case even if no backend could run it.
  void note_declined(const Case& c) {
    bool checked = false;
    for (const BackendEntry& e : options_.backends) {
      if (!c.backend.empty() && c.backend != e.name()) continue;
      if (!e.program.empty() && e.program != c.target->text()) continue;
      checked = true;
      if (has_kernel(e, *c.target)) continue;
      Outcome declined;
      declined.verdict = Verdict::declined;
      declined.reason = "no kernel for " + c.target->op();
      record(c, e.name(), declined, 0);
    }
    if (checked) return;
    Outcome skipped;
    skipped.reason = fmt::format("backend {} is not among those that are checked", c.backend);
    record(c, c.backend, skipped, 0);
  }

  void run_random() {
    CaseSchedule schedule(options_, targets_, tally_, std::move(done_));
    const double until =
        seconds_since(start_) + options_.budget_s.value_or(std::numeric_limits<double>::infinity());
    if (options_.budget_s) progress_.until_s = until;
    const auto is_over = [&] { return stopped() || seconds_since(start_) >= until; };
    while (CaseStream* next = is_over() ? nullptr : schedule.next()) advance(*next);
    result_.ended_early = schedule.ended_early();
  }

  /// Runs the stream's next case, unless an earlier run of the campaign did.
  void advance(CaseStream& stream) {
    const std::uint64_t position = stream.position++;
    if (const auto was = stream.done.accepted.find(position); was != stream.done.accepted.end())
      return stream.count(was->second);
    const auto begin = std::chrono::steady_clock::now();
    const double shrinking_before = shrinking_s_;
    const bool accepted = run_case(draw(stream, position), Draw{stream, position});
    stream.count(accepted);
    const double running = seconds_since(begin) - (shrinking_s_ - shrinking_before);
    const double seconds = running * (stream.accepted ? 1 : kDeclinedWeighs);
    stream.seconds += seconds;
    finish({.op = stream.target->text(),
            .dtype = stream.dtype,
            .position = position,
            .accepted = accepted,
            .seconds = seconds});
  }

  /// Draws another case if no backend could have one of its kind: valid indices along an axis
  /// without elements.
  Case draw(const CaseStream& stream, std::uint64_t position) const {
    constexpr std::uint64_t kMaxDraws = 64;
    const auto can_take = [&](const Case& c, const BackendEntry& e) {
      return has_kernel(e, *c.target) &&
             ((with_indices_for(c, *e.backend).indices & MOTE_INDICES_VALID) == 0 ||
              !lacks_valid_index(c));
    };
    DrawStyle style;
    style.extents = options_.extents;
    for (std::uint64_t draw = 0;; ++draw) {
      const std::uint64_t seed = draw == 0 ? options_.seed : mix(options_.seed + draw);
      Case c = generate(stream.target, stream.dtype, {seed, position, 0}, style);
      const auto takes_it = [&](const BackendEntry& e) { return can_take(c, e); };
      if (draw == kMaxDraws || std::ranges::any_of(options_.backends, takes_it)) return c;
    }
  }

  /// Runs the case on every backend; true if one took it, or another draw in its place. Kernels
  /// that assume restricted indices get the case with such indices.
  bool run_case(const Case& given, std::optional<Draw> drawn = {}) {
    if (journal_) journal_->begin(to_string(given));
    progress_.op = given.target->text();
    tell_progress();
    CaseRunOptions options = options_.run;
    options.is_given = !drawn;
    std::map<int, Prepared> by_indices;
    bool accepted = false;
    for (const BackendEntry& e : options_.backends) {
      if (!given.backend.empty() && given.backend != e.name()) continue;
      if (!has_kernel(e, *given.target)) continue;
      if (drawn && hangs_too_often(tally_, given.target->text(), e)) continue;
      const Case c = with_indices_for(given, *e.backend);
      auto prepared = by_indices.find(c.indices);
      try {
        if (prepared == by_indices.end())
          prepared = by_indices.emplace(c.indices, Prepared(c, options)).first;
      } catch (const Error& error) {
        if (options_.run.stopping()) throw Interrupted();  // the signal ended a compiler too
        Outcome skipped;
        skipped.reason = error.what();
        record(c, e.name(), skipped, 0);
        return false;
      }
      const Outcome outcome = run_on(prepared->second, e);
      std::optional<Case> other;
      if (drawn && outcome.verdict == Verdict::declined)
        other = another(*drawn, prepared->second, e);
      if (other) {
        accepted = run_instead(*other, e) || accepted;
      } else {
        accepted = accepted || outcome.verdict != Verdict::declined;
        count_outcome(c, e, outcome, prepared->second.multiply_adds());
      }
      if (has_enough()) break;
    }
    return accepted;
  }

  void tell_progress() {
    if (!options_.progress) return;
    progress_.seconds = seconds_since(start_);
    progress_.judged = tally_.judged();
    progress_.failed = tally_.failed();
    progress_.failures = std::ssize(tally_.failures());
    options_.progress(progress_);
  }

  void count_outcome(const Case& c, const BackendEntry& e, const Outcome& outcome, double work) {
    record(c, e.name(), outcome, work);
    if (is_failure(outcome.verdict)) note_failure(c, e, outcome);
  }

  bool run_instead(const Case& given, const BackendEntry& e) {
    const Case c = with_indices_for(given, *e.backend);
    if (journal_) journal_->begin(to_string(c));
    Outcome outcome;
    double work = 0;
    try {
      Prepared prepared(c, options_.run);
      outcome = run_on(prepared, e);
      work = prepared.multiply_adds();
    } catch (const Error& error) {
      if (options_.run.stopping()) throw Interrupted();
      outcome.reason = error.what();
    }
    count_outcome(c, e, outcome, work);
    return outcome.verdict != Verdict::declined && outcome.verdict != Verdict::skipped;
  }

  /// Another draw that the backend takes, for one that its can_run declines. A case that only run
  /// declines stays as it is.
  std::optional<Case> another(const Draw& draw, Prepared& declined, const BackendEntry& e) {
    std::int64_t& fruitless = draw.stream.fruitless[e.name()];
    if (keeps_first_draw(draw.position) || fruitless >= kDeclinesThatEndAStream ||
        declined.is_taken_by(*e.backend))
      return std::nullopt;
    const auto takes = [&](const Case& c) {
      try {
        const Case own = with_indices_for(c, *e.backend);
        if ((own.indices & MOTE_INDICES_VALID) != 0 && lacks_valid_index(own)) return false;
        return Prepared(own, options_.run).is_taken_by(*e.backend);
      } catch (const Error&) {  // it does not fit into memory, or has no reference
        return false;
      }
    };
    const CaseStream& stream = draw.stream;
    auto other = another_draw(
        {stream.target, stream.dtype, options_.seed, draw.position, options_.extents}, takes);
    fruitless = other ? INT64_MIN : fruitless + 1;
    return other;
  }

  void record(const Case& c, const std::string& backend, const Outcome& outcome, double work) {
    results_.push_back(
        {c.target->text(), c.instance.dtype, backend, c.fill.kind, outcome, work, features_of(c)});
    tally_.record(results_.back());
    keep_report();
  }

  void note_failure(const Case& c, const BackendEntry& e, const Outcome& outcome) {
    if (tally_.seen_again(c.target->text(), e.name(), outcome.verdict)) return;
    const double begin = seconds_since(start_);
    std::optional<Failure> settled = std::exchange(settled_, std::nullopt);
    const double found = settled ? settled->found_after_s : begin;
    tell_found(c, e, outcome, found);
    Failure failure = settled
                          ? *std::move(settled)
                          : shrink_failure(c, e, outcome.verdict, options_.run, options_.shrink_s);
    try {
      failure.peers = peers_on(failure.smallest, options_.peers, options_.run);
    } catch (const Interrupted&) {  // the failure is reported without them
    }
    if (outcome.earlier_case.empty()) failure.first_outcome = outcome;
    shrinking_s_ += seconds_since(start_) - begin;
    failure.found_after_s = found;
    if (journal_) journal_->failure(failure);
    if (!options_.corpus.empty()) add_to_corpus(options_.corpus, failure);
    if (options_.failure) options_.failure(failure);
    tally_.add(std::move(failure));
    reported_after_s_ = 0;
    progress_.shrinking = false;
    tell_progress();
  }

  void tell_found(const Case& c, const BackendEntry& e, const Outcome& outcome, double found) {
    FoundFailure met{c, outcome, found};
    met.first.backend = e.name();
    met.first.plugin = e.plugin;
    if (journal_) journal_->found(met);
    if (options_.found) options_.found(met);
    progress_.shrinking = true;
    tell_progress();
  }

  void finish(const CaseDone& done) {
    if (journal_) journal_->done(done, results_, seconds_since(start_));
    results_.clear();
    ++progress_.cases;
    tell_progress();
  }

  /// Counts the cases of an earlier run of this campaign, which are not run again.
  void resume() {
    if (options_.journal.empty()) return;
    journal_.emplace(options_.journal, campaign_text(options_), options_.seed);
    JournalContent content = journal_->content();
    for (const Failure& f : content.failures)
      if (options_.failure) options_.failure(f);
    for (const auto& [key, stream] : content.streams)
      progress_.cases += std::ssize(stream.accepted);
    progress_.cases += std::ssize(content.listed);
    count(content, tally_);
    done_ = std::move(content.streams);
    listed_done_ = std::move(content.listed);
    start_ -= std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(content.seconds));
  }

  /// Settles whether a call that took much longer than others hangs: it does if a small case does
  /// too, in a fresh process. Otherwise the kernel is slow, and gets all the time of its limit.
  Outcome settled(Prepared& prepared, const BackendEntry& e, const Outcome& outcome) {
    using Hangs = Isolation::State::Hangs;
    if (outcome.verdict != Verdict::hung || !options_.run.isolation || options_.run.limit_s)
      return outcome;
    Hangs& hangs = options_.run.isolation->state().hangs;
    const Case& c = prepared.subject_case();
    if (hangs != Hangs::early || tally_.count(c.target->text(), e.name(), Verdict::hung) > 0)
      return outcome;
    const double found = seconds_since(start_);
    Failure failure = shrink_failure(c, e, Verdict::hung, options_.run, options_.shrink_s);
    shrinking_s_ += seconds_since(start_) - found;
    const bool hung = failure.outcome.verdict == Verdict::hung && failure.only_after.empty();
    if (!hung && !options_.run.stopping()) {
      hangs = Hangs::patiently;
      return prepared.run(*e.backend, e.plugin);
    }
    failure.found_after_s = found;
    settled_ = std::move(failure);
    return outcome;
  }

  /// Runs the case, and again if an earlier case had left something behind that ended its
  /// worker.
  Outcome run_on(Prepared& prepared, const BackendEntry& e) {
    const Outcome outcome = settled(prepared, e, prepared.run(*e.backend, e.plugin));
    if (outcome.earlier_case.empty()) return outcome;
    const Case earlier = parse_case(outcome.earlier_case);
    record(earlier, e.name(), outcome, 0);
    Outcome of_earlier;  // its values were right; the late access came after them
    of_earlier.verdict = outcome.verdict;
    note_failure(earlier, e, of_earlier);
    return prepared.run(*e.backend, e.plugin);
  }

  /// Sets the report that a crash prints: exact for the first cases, later slightly old.
  void keep_report() {
    if (!options_.run.guard_crashes) return;
    const double now = seconds_since(start_);
    if (tally_.ran() > kReportsOfEach && now - reported_after_s_ < kReportEvery) return;
    reported_after_s_ = now;
    CampaignResult so_far;
    so_far.rows = tally_.rows();
    so_far.failures = tally_.failures();
    set_crash_report(options_.run.json ? progress_json(so_far, tally_.ran())
                                       : progress_text(so_far, tally_.ran()));
  }

  bool stopped() const { return options_.run.stopping() || has_enough(); }

  bool has_enough() const {
    return options_.max_failures &&
           std::ssize(tally_.failures()) + tally_.rows_that_decline_late() >=
               *options_.max_failures;
  }

  const CampaignOptions& options_;
  std::chrono::steady_clock::time_point start_;
  Targets targets_;
  Tally tally_;
  std::optional<Journal> journal_;
  CaseSchedule::Done done_;
  std::set<std::string> listed_done_;
  std::vector<CaseResult> results_;  ///< results of the current case
  CampaignResult result_;
  CampaignProgress progress_;
  double reported_after_s_ = 0;
  std::optional<Failure> settled_;  ///< the hang that settled() has made smaller
  double shrinking_s_ = 0;          ///< it does not count as time of the stream
};

}  // namespace

CampaignResult run_campaign(const CampaignOptions& options) { return Campaign(options).run(); }

}  // namespace mote
