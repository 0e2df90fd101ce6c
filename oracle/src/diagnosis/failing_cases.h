// SPDX-License-Identifier: Apache-2.0
// The failing cases on which hypotheses are tried, in the order in which they tell most.
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

/// Too many multiply-adds to be computed again for each of many hypotheses.
bool is_heavy(const Case& c);

/// The smallest, and those that fail in the same way, with the same optional inputs where enough
/// do: drawn ones first, as those made from the smallest share its accidents, and of those the ones
/// whose data have no edges, are finite where the smallest's are, and whose parameters are the
/// smallest's; of these the ones whose fill is another first. First small ones, later the largest
/// of the others, then new ones.
class FailingCases {
 public:
  FailingCases(const Case& smallest, const Outcome& outcome, const std::vector<Sample>& samples,
               const Judge& judge);

  /// The smallest, and the first kCases - 1 of the others; empty where the reference cannot compute
  /// the smallest.
  std::vector<Observed> first();
  /// A larger one; nullopt where none of some drawn ones fails.
  std::optional<Observed> next();
  bool some_are_drawn() const { return drawn_ > 0; }

 private:
  bool is_alike(const Case& c, const Outcome& o) const;
  bool has_other_inputs(const Case& c) const;
  std::ptrdiff_t other_params(const Case& c) const;

  const Case& smallest_;
  const std::set<std::pair<int, int>> ones_;  ///< as Draft has them
  const Outcome& outcome_;
  const Judge& judge_;
  std::vector<const Sample*> alike_;  ///< by work, drawn ones first
  std::ptrdiff_t drawn_ = 0;          ///< those of them that are drawn and not used from the end
  std::ptrdiff_t used_ = 0;           ///< from the beginning
  std::uint64_t fresh_ = 0;           ///< new cases that were run
  std::uint64_t drawn_fresh_ = 0;     ///< and drawn
};

}  // namespace mote::diagnosis
