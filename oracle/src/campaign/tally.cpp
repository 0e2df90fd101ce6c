// SPDX-License-Identifier: Apache-2.0
#include "campaign/tally.h"

#include <fmt/format.h>

#include <algorithm>

namespace mote {

namespace {

bool is_mostly_unknown(const Row& row) {
  return static_cast<double>(row.indeterminate) >
         kMostlyUnknown * static_cast<double>(row.elements);
}

/// Makes passed cases weak, since they have shown almost nothing.
void withdraw(Row& row) {
  auto& passed = row.counts[static_cast<std::size_t>(Verdict::passed)];
  row.counts[static_cast<std::size_t>(Verdict::weak)] += passed;
  passed = row.judged = row.judged_large = 0;
  for (auto& [cell, count] : row.cells) count.judged = 0;
  row.reason = fmt::format(
      "nothing is known about {} of its {} elements: by its contract they may be anything",
      row.indeterminate, row.elements);
}

}  // namespace

void Tally::record(const CaseResult& r) {
  const Outcome& outcome = r.outcome;
  Row& row = rows_[{r.op, r.dtype, r.backend}];
  row.op = r.op;
  row.dtype = r.dtype;
  row.backend = r.backend;
  ++ran_;
  ++row.counts[static_cast<std::size_t>(outcome.verdict)];
  row.indeterminate += outcome.indeterminate;
  if (outcome.judged() || outcome.verdict == Verdict::weak) row.elements += outcome.elements;
  count_cells(row.cells, r.features, outcome);
  if (outcome.verdict == Verdict::declined) {
    Declined& declined = row.declined[reason_kind(outcome.reason)];
    if (declined.count++ == 0) declined.example = outcome.reason;
    row.declined_by_run += outcome.declined_by_run ? 1 : 0;
  }
  if (outcome.verdict == Verdict::passed && !outcome.reason.empty() && row.noted++ == 0)
    row.note = outcome.reason;
  double& error = row.errors[r.fill];
  error = std::max(error, outcome.error);
  if (outcome.judged()) {
    ++judged_;
    ++row.judged;
    if (r.work >= kLargeCase) ++row.judged_large;
  } else if (row.reason.empty() ||
             (outcome.verdict == Verdict::skipped && row.count(Verdict::skipped) == 1)) {
    row.reason = outcome.reason;
  }
  if (is_failure(outcome.verdict)) ++failed_;
}

Failure* Tally::find(const std::string& op, const std::string& backend, Verdict verdict) {
  const auto at = std::ranges::find_if(failures_, [&](const Failure& f) {
    return f.smallest.target->text() == op && f.smallest.backend == backend &&
           f.outcome.verdict == verdict;
  });
  return at == failures_.end() ? nullptr : &*at;
}

bool Tally::seen_again(const std::string& op, const std::string& backend, Verdict verdict) {
  Failure* known = find(op, backend, verdict);
  if (known != nullptr) ++known->occurrences;
  return known != nullptr;
}

void Tally::add(Failure failure) {
  Failure* known =
      find(failure.smallest.target->text(), failure.smallest.backend, failure.outcome.verdict);
  if (known == nullptr) {
    failures_.push_back(std::move(failure));
  } else {
    known->occurrences += failure.occurrences;
    known->found_after_s = std::min(known->found_after_s, failure.found_after_s);
  }
}

const Row* Tally::row(const std::string& op, DType dtype, const std::string& backend) const {
  const auto at = rows_.find({op, dtype, backend});
  return at == rows_.end() ? nullptr : &at->second;
}

std::int64_t Tally::count(const std::string& op, const std::string& backend,
                          Verdict verdict) const {
  std::int64_t sum = 0;
  for (const auto& [key, row] : rows_)
    if (row.op == op && row.backend == backend) sum += row.count(verdict);
  return sum;
}

std::int64_t Tally::rows_that_decline_late() const {
  constexpr std::int64_t kEnough = 30;
  return std::ranges::count_if(rows_, [](const auto& keyed) {
    return keyed.second.accepted() >= kEnough && keyed.second.declines_late();
  });
}

std::vector<Row> Tally::rows() const {
  std::vector<Row> rows;
  for (const auto& [key, row] : rows_) {
    rows.push_back(row);
    if (row.failures() == 0 && is_mostly_unknown(row)) withdraw(rows.back());
  }
  return rows;
}

}  // namespace mote
