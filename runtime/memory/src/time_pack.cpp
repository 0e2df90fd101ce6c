// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "pack.h"

namespace mote::memory {
namespace {

/// The free memory below and above all that is taken.
class FreeMemory {
 public:
  /// Takes the smallest gap that fits, or memory at the top.
  std::uint64_t take(std::uint64_t bytes, std::uint64_t alignment) {
    for (auto gap = by_bytes_.lower_bound({bytes, 0}); gap != by_bytes_.end(); ++gap) {
      const auto [size, begin] = *gap;
      const std::uint64_t offset = rounded_up(begin, alignment);
      if (offset - begin > size || size - (offset - begin) < bytes) continue;
      remove(begin, size);
      if (offset > begin) add(begin, offset - begin);
      if (offset + bytes < begin + size) add(offset + bytes, begin + size - offset - bytes);
      return offset;
    }
    return take_at_top(bytes, alignment);
  }

  void release(std::uint64_t begin, std::uint64_t bytes) {
    const auto after = gaps_.lower_bound(begin);
    if (after != gaps_.end() && after->first == begin + bytes) {
      const std::uint64_t more = after->second;
      remove(begin + bytes, more);
      bytes += more;
    }
    const auto next = gaps_.lower_bound(begin);
    if (next != gaps_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == begin) {
        remove(before, size);
        begin = before;
        bytes += size;
      }
    }
    add(begin, bytes);
  }

  std::uint64_t top() const { return top_; }

 private:
  std::uint64_t take_at_top(std::uint64_t bytes, std::uint64_t alignment) {
    std::uint64_t begin = top_;
    if (!gaps_.empty() && std::prev(gaps_.end())->first + std::prev(gaps_.end())->second == top_) {
      begin = std::prev(gaps_.end())->first;
      remove(begin, top_ - begin);
    }
    const std::uint64_t offset = rounded_up(begin, alignment);
    top_ = saturating_sum(offset, bytes);
    if (offset > begin) add(begin, offset - begin);
    return offset;
  }
  void add(std::uint64_t begin, std::uint64_t bytes) {
    gaps_.emplace(begin, bytes);
    by_bytes_.emplace(bytes, begin);
  }
  void remove(std::uint64_t begin, std::uint64_t bytes) {
    gaps_.erase(begin);
    by_bytes_.erase({bytes, begin});
  }

  std::map<std::uint64_t, std::uint64_t> gaps_;                 // by offset
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_bytes_;  // (bytes, offset)
  std::uint64_t top_ = 0;
};

}  // namespace

Packing pack_by_time(const Part& part, bool backwards) {
  // (time, begins, less bytes later, block); what ends at a point still lives there.
  std::vector<std::tuple<std::int64_t, bool, std::uint64_t, std::uint32_t>> events;
  events.reserve(2 * part.size());
  for (std::uint32_t k = 0; k < part.size(); ++k) {
    const std::int64_t begin =
        backwards ? -static_cast<std::int64_t>(part.ends[k]) : part.begins[k];
    const std::int64_t end = backwards ? -static_cast<std::int64_t>(part.begins[k]) : part.ends[k];
    events.emplace_back(begin, true, kTooMany - part.bytes[k], k);
    events.emplace_back(end + 1, false, 0, k);
  }
  std::sort(events.begin(), events.end());
  Packing result;
  result.offsets.resize(part.size());
  FreeMemory memory;
  for (const auto& [time, begins, rest, k] : events) {
    if (!begins) {
      memory.release(result.offsets[k], part.bytes[k]);
      continue;
    }
    result.offsets[k] = memory.take(part.bytes[k], part.alignments[k]);
    if (memory.top() > kMaxBytes) return {};
  }
  result.total = memory.top();
  return result;
}

}  // namespace mote::memory
