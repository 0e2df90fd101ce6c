// SPDX-License-Identifier: Apache-2.0
// The counts of a campaign: rows by op, dtype and backend, and failures.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "mote/oracle/campaign.h"

namespace mote {

/// The result of a case on a backend, as it is counted.
struct CaseResult {
  std::string op;
  DType dtype = DType::f32;
  std::string backend;
  FillKind fill = FillKind::integer;
  Outcome outcome;  ///< without the differences
  double work = 0;  ///< multiply-adds
  CaseFeatures features = {};
};

class Tally {
 public:
  void record(const CaseResult& result);
  /// Counts another occurrence of a known failure; returns false if it is not known.
  bool seen_again(const std::string& op, const std::string& backend, Verdict verdict);
  /// Adds a failure; a known one of the same kind keeps its cases.
  void add(Failure failure);

  std::vector<Row> rows() const;
  /// The row; null if no case of it was recorded.
  const Row* row(const std::string& op, DType dtype, const std::string& backend) const;
  const std::vector<Failure>& failures() const { return failures_; }
  /// The number of cases with the verdict, over all dtypes.
  std::int64_t count(const std::string& op, const std::string& backend, Verdict verdict) const;
  /// The number of rows that decline late, of those with enough cases to be sure.
  std::int64_t rows_that_decline_late() const;
  std::int64_t ran() const { return ran_; }
  std::int64_t judged() const { return judged_; }
  std::int64_t failed() const { return failed_; }

 private:
  Failure* find(const std::string& op, const std::string& backend, Verdict verdict);

  std::map<std::tuple<std::string, DType, std::string>, Row> rows_;
  std::vector<Failure> failures_;
  std::int64_t ran_ = 0;
  std::int64_t judged_ = 0;
  std::int64_t failed_ = 0;
};

}  // namespace mote
