// SPDX-License-Identifier: Apache-2.0
// Where a kernel fails: runs like the smallest failing case and random ones, and the condition on
// shape, parameters and layout that tells those that fail from those that pass.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mote/oracle/run.h"

namespace mote::diagnosis {

struct Sample {
  Case of;
  Outcome outcome;
  bool drawn = false;  ///< at random, not made from the smallest case
  bool failed() const { return is_failure(outcome.verdict); }
};

/// Judged cases: the smallest with one size, parameter or layout changed, and drawn ones.
std::vector<Sample> samples(const Case& smallest, const std::function<Outcome(const Case&)>& judge);

/// The k-th case drawn of the op and dtype, for the backend.
Case drawn_like(const Case& smallest, std::uint64_t k);

/// Something that a case may be: "K % 8 != 0".
struct Predicate {
  std::string text;
  std::function<bool(const Case&)> holds;
};
/// Those that hold for the case, the simpler first.
std::vector<Predicate> predicates(const Case& smallest);

struct MinedCondition {
  std::string text;       ///< predicates joined by "and"; empty: none tells them apart
  bool exact = false;     ///< it holds in the samples that fail and in no other
  std::int64_t held = 0;  ///< samples in which it holds
};
MinedCondition mine(const Case& smallest, const std::vector<Sample>& all);

}  // namespace mote::diagnosis
