// SPDX-License-Identifier: Apache-2.0
// Provides the failing cases on which hypotheses are tried, the most informative first.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "diagnosis/find_condition.h"
#include "diagnosis/observed.h"

namespace mote::diagnosis {

constexpr std::size_t kCases = 5;  ///< failing cases that a hypothesis is tested on

/// True if there are too many multiply-adds to compute again for each of many hypotheses.
bool is_heavy(const Case& c);

/// The smallest case and those that fail in the same way, with the same optional inputs if enough
/// do. Drawn cases come first, since cases made from the smallest share its accidents; of those,
/// cases whose data have no edges, are finite if the smallest's are, and whose parameters are the
/// smallest's; of these, cases with another fill. Small cases are taken first, later the largest of
/// the others, then new ones.
class FailingCases {
 public:
  FailingCases(const Case& smallest, const Outcome& outcome, const std::vector<Sample>& samples,
               const Judge& judge, const Deadline& deadline);

  /// The smallest and the first kCases - 1 of the others; empty if the reference cannot compute the
  /// smallest.
  std::vector<Observed> first();
  /// A larger case; nullopt if none of some drawn ones fails, or the time is over.
  std::optional<Observed> next();
  bool some_are_drawn() const { return drawn_ > 0; }

 private:
  bool is_alike(const Case& c, const Outcome& o) const;
  bool has_other_inputs(const Case& c) const;
  std::ptrdiff_t other_params(const Case& c) const;

  const Case& smallest_;
  const std::set<std::pair<int, int>> ones_;  ///< the same as in Draft
  const Outcome& outcome_;
  const Judge& judge_;
  const Deadline deadline_;
  std::vector<const Sample*> alike_;  ///< drawn ones first, and then in the order above
  std::ptrdiff_t drawn_ = 0;          ///< drawn ones that are not yet used from the end
  std::ptrdiff_t used_ = 0;           ///< used from the beginning
  std::uint64_t fresh_ = 0;           ///< new cases that were run
  std::uint64_t drawn_fresh_ = 0;     ///< positions of new cases that were drawn
};

}  // namespace mote::diagnosis
