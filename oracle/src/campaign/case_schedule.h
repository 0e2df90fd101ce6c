// SPDX-License-Identifier: Apache-2.0
// Chooses the op and dtype of the next case of a campaign. Each op gets the same share of time, and
// within it each dtype; a stream of cases that every backend declines comes to an end.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "campaign/case_stream.h"
#include "campaign/plan.h"
#include "campaign/tally.h"

namespace mote {

/// True if no more cases of the op should go to the backend, since each hang takes its time limit.
bool hangs_too_often(const Tally& tally, const std::string& op, const BackendEntry& e);

/// With a count, case k of an op is case k / n of its dtype k % n, of n: which cases run depends on
/// neither time nor shards, except that a dtype that no backend takes is given up. Without one, the
/// op with the least time so far is next.
class CaseSchedule {
 public:
  using Done = std::map<std::pair<std::string, DType>, JournalStream>;

  /// `done`, by op and dtype, holds the cases of an earlier run of the campaign. The other
  /// arguments are kept by reference.
  CaseSchedule(const CampaignOptions& options, const Targets& targets, const Tally& tally,
               Done done);

  /// The stream whose case at `position` is next, valid until the next call; null if none is left.
  CaseStream* next();
  /// True if every backend has failed in all that it takes.
  bool ended_early() const { return ended_early_; }

 private:
  struct Next {
    CaseStream* stream;
    std::uint64_t position;
  };

  CaseStream* next_of_count();
  CaseStream* next_of_budget();
  void deal(std::vector<CaseStream>& streams);
  void note_settled();
  bool is_ours(std::uint64_t number) const;
  bool is_over(const CaseStream& stream) const;
  bool is_settled(const CaseStream& stream, const BackendEntry& e) const;
  std::vector<CaseStream*> live_streams(std::vector<CaseStream>& streams) const;
  CaseStream* least_served();

  const CampaignOptions& options_;
  const Tally& tally_;
  std::vector<std::vector<CaseStream>> ops_;  ///< the streams of each op, one for each dtype
  std::deque<Next> dealt_;                    ///< the next cases, with a count
  std::uint64_t dealt_from_ = 0;              ///< the position that is dealt for all ops
  std::size_t dealt_op_ = 0;                  ///< the next op
  std::int64_t failed_ = -1;    ///< the number of failures at the last search for settled streams
  bool only_declined_ = false;  ///< only streams that were always declined are left
  bool ended_early_ = false;
};

}  // namespace mote
