// SPDX-License-Identifier: Apache-2.0
// Which case of which op and dtype a campaign draws next. Each op gets the same share of time, and
// within it each dtype; a stream of cases that every backend declines comes to an end.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "campaign/plan.h"
#include "campaign/stream.h"
#include "campaign/tally.h"

namespace mote {

/// Each hang takes its time limit, so that no more cases of the op go to the backend.
bool hangs_too_often(const Tally& tally, const std::string& op, const BackendEntry& e);

/// With a count, case k of an op is case k / n of its dtype k % n, of n: which cases run depends on
/// neither time nor shards, but that a dtype which nobody takes is given up. Without one, the op
/// that has had least time is next.
class CaseSchedule {
 public:
  using Done = std::map<std::pair<std::string, DType>, JournalStream>;

  /// `done`, by op and dtype: what an earlier run of the campaign did. The others are kept.
  CaseSchedule(const CampaignOptions& options, const Targets& targets, const Tally& tally,
               Done done);

  /// The stream whose case at `position` is next, until the call after it; null where none is left.
  Stream* next();
  /// Every backend has failed in all that it takes.
  bool ended_early() const { return ended_early_; }

 private:
  struct Next {
    Stream* stream;
    std::uint64_t position;
  };

  Stream* next_of_count();
  Stream* next_of_budget();
  void deal(std::vector<Stream>& streams);
  void note_settled();
  bool is_ours(std::uint64_t number) const;
  bool is_over(const Stream& stream) const;
  bool is_settled(const Stream& stream, const BackendEntry& e) const;
  std::vector<Stream*> live_streams(std::vector<Stream>& streams) const;
  Stream* least_served();

  const CampaignOptions& options_;
  const Tally& tally_;
  std::vector<std::vector<Stream>> ops_;  ///< of each op one for each dtype
  std::deque<Next> dealt_;                ///< with a count: what is next
  std::uint64_t dealt_from_ = 0;          ///< the position that is dealt of all ops
  std::size_t dealt_op_ = 0;              ///< the next of them
  std::int64_t failed_ = -1;              ///< when settled streams were last looked for
  bool only_declined_ = false;            ///< nothing else is left to draw
  bool ended_early_ = false;
};

}  // namespace mote
