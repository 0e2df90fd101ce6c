// SPDX-License-Identifier: Apache-2.0
// Numbers that are found by hashes, in one array: the caller knows what each number stands for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mote/symbolic/symbol.h"

namespace mote {

class HashIndex {
 public:
  /// Returns an entry that was added with that hash and for which is_it(entry) is true; kNoIndex if
  /// there is none.
  template <typename IsIt>
  std::uint32_t find(std::size_t hash, const IsIt& is_it) const {
    if (slots_.empty()) return kNoIndex;
    const std::uint32_t mark = mark_of(hash);
    for (std::size_t at = first(mark); slots_[at].entry != kNoIndex; at = next(at))
      if (slots_[at].mark == mark && is_it(slots_[at].entry)) return slots_[at].entry;
    return kNoIndex;
  }

  void add(std::size_t hash, std::uint32_t entry) {
    if (2 * (count_ + 1) > slots_.size()) grow_to(2 * slots_.size());
    put({mark_of(hash), entry});
    ++count_;
  }

 private:
  struct Slot {
    std::uint32_t mark = 0;
    std::uint32_t entry = kNoIndex;
  };

  static std::uint32_t mark_of(std::size_t hash) {
    return static_cast<std::uint32_t>((hash * 0x9e3779b97f4a7c15U) >> 32U);
  }
  std::size_t first(std::uint32_t mark) const { return mark & (slots_.size() - 1); }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  void put(const Slot& slot) {
    std::size_t at = first(slot.mark);
    while (slots_[at].entry != kNoIndex) at = next(at);
    slots_[at] = slot;
  }
  void grow_to(std::size_t slots) {
    constexpr std::size_t kLeast = 16;
    std::vector<Slot> before(std::max(kLeast, slots));
    before.swap(slots_);
    for (const Slot& slot : before)
      if (slot.entry != kNoIndex) put(slot);
  }

  std::vector<Slot> slots_;  ///< a power of two, at most half of them taken
  std::size_t count_ = 0;
};

/// The same, for numbers in groups: what is found is of one group. The first numbers of a group are
/// looked for one by one, so that groups that are asked for in order lie so in memory, which a
/// table of hashes does not.
class GroupedIndex {
 public:
  GroupedIndex(std::size_t groups, std::size_t most_entries) : first_(groups, kNoIndex) {
    chained_.reserve(most_entries);
  }

  /// Returns an entry of the group that was added with that hash and for which is_it(entry) is
  /// true; if there is none, `entry`, which is added.
  template <typename IsIt>
  std::uint32_t find_or_add(std::uint32_t group, std::size_t hash, std::uint32_t entry,
                            const IsIt& is_it) {
    constexpr int kMostChained = 16;
    std::uint32_t* at = &first_[group];
    for (int k = 0; k < kMostChained; ++k) {
      if (*at == kNoIndex) {
        *at = static_cast<std::uint32_t>(chained_.size());
        chained_.push_back({hash, entry});
        return entry;
      }
      Chained& chained = chained_[*at];
      if (chained.hash == hash && is_it(chained.entry)) return chained.entry;
      at = &chained.next;
    }
    const std::uint32_t found = others_.find(hash, is_it);
    if (found != kNoIndex) return found;
    others_.add(hash, entry);
    return entry;
  }

 private:
  struct Chained {
    std::size_t hash;
    std::uint32_t entry;
    std::uint32_t next = kNoIndex;
  };
  std::vector<std::uint32_t> first_;  ///< by group, in chained_
  std::vector<Chained> chained_;
  HashIndex others_;  ///< those that are not chained
};

}  // namespace mote
