// SPDX-License-Identifier: Apache-2.0
#include "campaign/case_schedule.h"

#include <algorithm>

#include "campaign/corpus.h"

namespace mote {
namespace {

constexpr std::int64_t kMaxHangs = 3;
constexpr std::uint64_t kTogether = 4;  ///< cases of an op that one shard runs

}  // namespace

bool hangs_too_often(const Tally& tally, const std::string& op, const BackendEntry& e) {
  return tally.count(op, e.name(), Verdict::hung) >= kMaxHangs;
}

CaseSchedule::CaseSchedule(const CampaignOptions& options, const Targets& targets,
                           const Tally& tally, Done done)
    : options_(options), tally_(tally) {
  for (const auto& target : targets) {
    if (!offers(options_.backends, *target)) continue;
    std::vector<CaseStream>& streams = ops_.emplace_back();
    for (const DType dtype : dtypes_of(options_, *target)) {
      CaseStream& stream = streams.emplace_back(CaseStream{target, dtype});
      if (const auto was = done.find({target->text(), dtype}); was != done.end())
        stream.done = std::move(was->second);
      stream.seconds = stream.done.seconds;
    }
  }
}

CaseStream* CaseSchedule::next() { return options_.count ? next_of_count() : next_of_budget(); }

/// Takes op by op, or a few cases of each in turn if the time may end before the count.
CaseStream* CaseSchedule::next_of_count() {
  const auto count = static_cast<std::uint64_t>(*options_.count);
  const std::uint64_t together = options_.budget_s ? kTogether : std::max(count, kTogether);
  while (true) {
    while (!dealt_.empty()) {
      const Next next = dealt_.front();
      dealt_.pop_front();
      if (is_over(*next.stream)) continue;
      next.stream->position = next.position;
      return next.stream;
    }
    if (dealt_op_ == ops_.size()) {
      dealt_op_ = 0;
      dealt_from_ += together;
    }
    if (ops_.empty() || dealt_from_ >= count) return nullptr;
    deal(ops_[dealt_op_++]);
  }
}

/// Deals the cases of each dtype that are below the op's count. Each op and dtype begins with
/// another shard, so that few cases keep all shards busy; a few consecutive cases go to one shard,
/// since a backend may compile something for them.
void CaseSchedule::deal(std::vector<CaseStream>& streams) {
  const auto count = static_cast<std::uint64_t>(*options_.count);
  const std::uint64_t together = options_.budget_s ? kTogether : std::max(count, kTogether);
  for (std::uint64_t position = dealt_from_;
       position < dealt_from_ + together && position * streams.size() < count; ++position) {
    for (std::size_t n = 0; n < streams.size(); ++n) {
      if (position * streams.size() + n >= count) return;
      const std::uint64_t begin = hash_of(streams[n].target->text()) % options_.shard.count + n;
      if (is_ours(begin + position / kTogether)) dealt_.push_back({&streams[n], position});
    }
  }
}

CaseStream* CaseSchedule::next_of_budget() {
  if (failed_ != tally_.failed() || only_declined_) note_settled();
  failed_ = tally_.failed();
  CaseStream* stream = ended_early_ ? nullptr : least_served();
  while (stream != nullptr && !is_ours(stream->position)) ++stream->position;
  return stream;
}

/// Settles streams in which every backend has failed. If only streams are left that were always
/// declined, these get the rest of the time; without any the campaign ends.
void CaseSchedule::note_settled() {
  ended_early_ = tally_.failed() > 0;
  only_declined_ = ended_early_;
  for (std::vector<CaseStream>& streams : ops_) {
    for (CaseStream& s : streams) {
      s.settled = std::ranges::all_of(options_.backends, [&](const BackendEntry& e) {
        return !has_kernel(e, *s.target) || is_settled(s, e);
      });
      ended_early_ = ended_early_ && (s.settled || s.ended());
      only_declined_ = only_declined_ && (s.settled || !s.accepted);
    }
  }
}

bool CaseSchedule::is_ours(std::uint64_t number) const {
  return number % options_.shard.count == options_.shard.index;
}

/// True if its cases were declined for long, or all backends that take them hang.
bool CaseSchedule::is_over(const CaseStream& stream) const {
  return stream.ended() || std::ranges::all_of(options_.backends, [&](const BackendEntry& e) {
           return !has_kernel(e, *stream.target) ||
                  hangs_too_often(tally_, stream.target->text(), e);
         });
}

/// True if more cases on that backend are of no use: one has failed, or it takes none.
bool CaseSchedule::is_settled(const CaseStream& stream, const BackendEntry& e) const {
  const Row* row = tally_.row(stream.target->text(), stream.dtype, e.name());
  if (row == nullptr) return false;
  return row->failures() > 0 || (row->count(Verdict::declined) >= kDeclinesThatEndAStream &&
                                 row->count(Verdict::declined) == row->cases());
}

std::vector<CaseStream*> CaseSchedule::live_streams(std::vector<CaseStream>& streams) const {
  std::vector<CaseStream*> live;
  for (CaseStream& s : streams) {
    if (!is_over(s) && !(only_declined_ && s.settled)) live.push_back(&s);
  }
  return live;
}

CaseStream* CaseSchedule::least_served() {
  CaseStream* next = nullptr;
  double least = 0;
  for (std::vector<CaseStream>& streams : ops_) {
    const std::vector<CaseStream*> live = live_streams(streams);
    if (live.empty()) continue;
    double seconds = 0;
    for (const CaseStream& s : streams) seconds += s.seconds;
    if (next != nullptr && seconds >= least) continue;
    least = seconds;
    next = *std::ranges::min_element(live, {}, &CaseStream::seconds);
  }
  return next;
}

}  // namespace mote
