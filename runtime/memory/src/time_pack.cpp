// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

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

/// The blocks of a part by the point at which something happens to them, each point's after those
/// of the one before, and in their order.
class ByPoint {
 public:
  /// `point_of(k)` is a number below `points`.
  template <typename PointOf>
  ByPoint(std::size_t blocks, std::size_t points, const PointOf& point_of)
      : blocks_(blocks), ends_(points + 1) {
    for (std::uint32_t k = 0; k < blocks; ++k) ++ends_[point_of(k) + 1];
    std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
    for (std::uint32_t k = 0; k < blocks; ++k) blocks_[ends_[point_of(k)]++] = k;
  }
  std::span<std::uint32_t> at(std::size_t point) {
    const std::size_t begin = point == 0 ? 0 : ends_[point - 1];
    return std::span(blocks_).subspan(begin, ends_[point] - begin);
  }

 private:
  std::vector<std::uint32_t> blocks_;
  std::vector<std::size_t> ends_;  ///< of the blocks of each point
};

}  // namespace

Packing pack_by_time(const Part& part, bool backwards) {
  const auto last = static_cast<std::uint32_t>(part.points - 1);
  const auto first_of = [&](std::uint32_t k) {
    return backwards ? last - part.ends[k] : part.begins[k];
  };
  const auto behind = [&](std::uint32_t k) {  // what ends at a point still lives there
    return (backwards ? last - part.begins[k] : part.ends[k]) + 1;
  };
  ByPoint begins(part.size(), part.points, first_of);
  ByPoint ends(part.size(), part.points + 1, behind);
  Packing result;
  result.offsets.resize(part.size());
  FreeMemory memory;
  for (std::uint32_t point = 0; point < part.points; ++point) {
    for (const std::uint32_t k : ends.at(point)) memory.release(result.offsets[k], part.bytes[k]);
    const std::span<std::uint32_t> taken = begins.at(point);
    if (taken.size() > 1)  // else it would ask the heap for room
      std::ranges::stable_sort(taken, std::greater(),
                               [&](std::uint32_t k) { return part.bytes[k]; });
    for (const std::uint32_t k : taken) {
      result.offsets[k] = memory.take(part.bytes[k], part.alignments[k]);
      if (memory.top() > kMaxBytes) return {};
    }
  }
  result.total = memory.top();
  return result;
}

}  // namespace mote::memory
