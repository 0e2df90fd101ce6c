// SPDX-License-Identifier: Apache-2.0
// What a campaign has counted: rows by op, dtype and backend, and failures.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "mote/oracle/campaign.h"

namespace mote {

/// What is counted of a case on a backend.
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
  /// Another occurrence of a failure that is known; false where it is not.
  bool seen_again(const std::string& op, const std::string& backend, Verdict verdict);
  /// Where one like it is known, that one keeps its cases.
  void add(Failure failure);

  std::vector<Row> rows() const;
  /// Null where no case of it was recorded.
  const Row* row(const std::string& op, DType dtype, const std::string& backend) const;
  const std::vector<Failure>& failures() const { return failures_; }
  /// Of all dtypes.
  std::int64_t count(const std::string& op, const std::string& backend, Verdict verdict) const;
  /// Of which enough cases ran to be sure of it.
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
