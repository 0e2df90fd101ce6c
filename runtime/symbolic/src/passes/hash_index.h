// SPDX-License-Identifier: Apache-2.0
// Numbers that are found by hashes, in one array: the caller knows what each number stands for.
#pragma once

#include <algorithm>
#include <bit>
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

  /// Makes room for that many entries.
  void reserve(std::size_t count) {
    if (2 * count > slots_.size()) grow_to(std::bit_ceil(2 * count));
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

}  // namespace mote
