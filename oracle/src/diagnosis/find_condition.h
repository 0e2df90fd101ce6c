// SPDX-License-Identifier: Apache-2.0
// Where a kernel fails: runs like the smallest failing case and random ones, and the condition on
// shape, parameters, layout, dtype and data that tells those that fail from those that pass.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/contents.h"
#include "mote/oracle/diagnosis.h"
#include "mote/oracle/run.h"

namespace mote::diagnosis {

struct Sample {
  Case of;
  Outcome outcome;
  bool drawn = false;              ///< at random, not made from the smallest case
  std::vector<Contents> contents;  ///< of its inputs; empty: not known
  bool failed() const { return is_failure(outcome.verdict); }
};

using Judge = std::function<Outcome(const Case&)>;

/// Runs cases until their work, or the time that crashes take, is used up.
class Sampler {
 public:
  Sampler(const Judge& judge, double most_work) : judge_(judge), most_work_(most_work) {}

  /// The case as it was judged; nullptr where it was not: it does not fit, was declined, or cannot
  /// tell a right kernel from a wrong one.
  const Sample* add(const Case& c, bool drawn);
  bool is_spent() const;

  std::vector<Sample> all;  ///< in the order in which they were judged

 private:
  const Judge& judge_;
  double most_work_;
  double work_ = 0;
  int ended_ = 0;
};

/// The cost of running the case, in multiply-adds.
double work_of(const Case& c);

/// Judged cases: the smallest with one size, parameter or layout changed, and drawn ones.
std::vector<Sample> samples(const Case& smallest, const Judge& judge);

/// The k-th case drawn of the op and dtype, for the backend.
Case drawn_like(const Case& smallest, std::uint64_t k);
/// The same, of those that have the smallest one's choice of optional inputs.
Case drawn_with_inputs_of(const Case& smallest, std::uint64_t k);
/// Likewise, with sizes that are equal where the smallest's are, and the axes of extent 1 that
/// repeat there.
Case drawn_with_sizes_of(const Case& smallest, std::uint64_t k);
/// The same, drawn in another dtype of the op.
Case drawn_like(const Case& smallest, DType dtype, std::uint64_t k);

/// Something that a case may be: "K % 8 != 0".
struct Predicate {
  std::string text;
  std::function<bool(const Sample&)> holds;
  /// The case with what the predicate speaks of changed, so that it holds in some and not in
  /// others: at the border where there is one. The k-th of them; nullopt where that is no case.
  std::function<std::optional<Case>(const Case&, std::uint64_t k)> vary;
  int cost = 1;  ///< of those that tell as much, the cheapest is said
  bool of_data = false;
  /// The number that it limits, where it limits one: cases on both sides are compared where they
  /// are near in it.
  std::function<std::optional<std::int64_t>(const Case&)> quantity = {};
};
/// The predicates that hold for all failing runs, the smallest case included, and not for all
/// passing ones.
std::vector<Predicate> predicates(const Case& smallest, const std::vector<const Sample*>& failing,
                                  const std::vector<const Sample*>& passing);
/// Adds predicates of sizes, numbers of elements and integer parameters.
void add_quantity_predicates(std::vector<Predicate>& all, const Case& smallest,
                             const std::vector<const Sample*>& failing,
                             const std::vector<const Sample*>& passing);

/// Adds predicates of the inputs' data.
void add_data_predicates(std::vector<Predicate>& all, const Case& smallest,
                         const std::vector<const Sample*>& failing);

/// The condition under which it fails: see Diagnosis.
struct WhereItFails {
  std::string text;        ///< predicates joined by "and"; empty: nothing simple holds
  bool necessary = false;  ///< no case fails where it does not hold, and a third where it does
  bool exact = false;      ///< and each one fails where it holds
  Share with, without;     ///< fresh cases where it holds, and where it does not
  std::function<bool(const Case&)> holds = {};
};

/// Each part of the condition is tried on fresh cases on both sides of it, where the other parts
/// hold. What these refute is given up, and they are samples for another condition.
WhereItFails find_condition(const Sample& smallest, std::vector<Sample> all, const Judge& judge);

}  // namespace mote::diagnosis
