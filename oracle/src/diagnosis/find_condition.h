// SPDX-License-Identifier: Apache-2.0
// Finds where a kernel fails: it runs cases like the smallest failing one and random ones, and
// finds a condition on shape, parameters, layout, dtype and data that separates failing from
// passing cases.
#pragma once

#include <chrono>
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
  bool drawn = false;              ///< it is random, not made from the smallest case
  std::vector<Contents> contents;  ///< the contents of its inputs; empty: not known
  bool failed() const { return is_failure(outcome.verdict); }
};

using Judge = std::function<Outcome(const Case&)>;

/// The time after which no further case is run.
class Deadline {
 public:
  explicit Deadline(double seconds) : seconds_(seconds) {}
  bool is_over() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count() >= seconds_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
  double seconds_;
};

/// Runs cases until the limit of their work, of the time that crashes take, or of time is reached.
class Sampler {
 public:
  Sampler(const Judge& judge, double most_work, const Deadline& deadline)
      : judge_(judge), most_work_(most_work), deadline_(deadline) {}

  /// The judged case; nullptr if it was not judged: it does not fit, was declined, or cannot tell a
  /// right kernel from a wrong one.
  const Sample* add(const Case& c, bool drawn);
  bool is_spent() const;

  std::vector<Sample> all;  ///< the samples in the order of judging

 private:
  const Judge& judge_;
  double most_work_;
  Deadline deadline_;
  double work_ = 0;
  int ended_ = 0;
};

/// The cost of running the case, in multiply-adds.
double work_of(const Case& c);

/// Judged cases: the smallest with one size, parameter or layout changed, and drawn ones.
std::vector<Sample> samples(const Case& smallest, const Judge& judge, const Deadline& deadline);

/// The k-th case drawn for the op, dtype and backend.
Case drawn_like(const Case& smallest, std::uint64_t k);
/// The k-th such case with the smallest's choice of optional inputs.
Case drawn_with_inputs_of(const Case& smallest, std::uint64_t k);
/// The same, with equal sizes and repeating axes of extent 1 wherever the smallest has them.
Case drawn_with_sizes_of(const Case& smallest, std::uint64_t k);
/// The k-th case drawn in another dtype of the op.
Case drawn_like(const Case& smallest, DType dtype, std::uint64_t k);

/// A property of a case: "K % 8 != 0".
struct Predicate {
  std::string text;
  std::function<bool(const Sample&)> holds;
  /// The k-th variation of the case in the quantity that the predicate is about, so that it holds
  /// in some and not in others, near the limit if there is one; nullopt if that is not a case.
  std::function<std::optional<Case>(const Case&, std::uint64_t k)> vary;
  int cost = 1;  ///< the cheapest of equally telling predicates is used
  bool of_data = false;
  /// The number that it limits, if any: cases on both sides are compared if they are near in it.
  std::function<std::optional<std::int64_t>(const Case&)> quantity = {};
};
/// The predicates that hold for all failing runs, including the smallest case, and not for all
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

/// The condition under which the kernel fails: see Diagnosis.
struct WhereItFails {
  std::string text;        ///< predicates combined by "and"; empty: no simple condition
  bool necessary = false;  ///< no case fails without it, and a third does with it
  bool exact = false;      ///< every case fails with it, too
  Share with, without;     ///< fresh cases where it holds, and where it does not
  std::function<bool(const Case&)> holds = {};
};

/// Tests each part of the condition on fresh cases on both sides of it, where the other parts hold.
/// A refuted part is dropped, and these cases become samples for another condition.
WhereItFails find_condition(const Sample& smallest, std::vector<Sample> all, const Judge& judge,
                            const Deadline& deadline);

}  // namespace mote::diagnosis
