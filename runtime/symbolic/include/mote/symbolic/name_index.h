// SPDX-License-Identifier: Apache-2.0
// Finds symbols by their names. The names themselves stay with the symbols: an entry is the hash of
// a name and the index of its symbol, so that a graph of many names is built without memory of its
// own for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "mote/symbolic/symbol.h"

namespace mote::detail {

/// In all calls name_of(index) is the name of an index that was added.
class NameIndex {
 public:
  /// Returns the index that was added with this name; kNoIndex: none.
  template <typename NameOf>
  std::uint32_t find(std::string_view name, const NameOf& name_of) const {
    return entries_.empty() ? kNoIndex : entries_[place(name, hash_of(name), name_of)].index;
  }

  /// Returns false, and adds nothing, if an index was added with this name.
  template <typename NameOf>
  bool add(std::string_view name, std::uint32_t index, const NameOf& name_of) {
    if (2 * (count_ + 1) > entries_.size()) grow();
    const std::uint32_t hash = hash_of(name);
    Entry& entry = entries_[place(name, hash, name_of)];
    if (entry.index != kNoIndex) return false;
    entry = {hash, index};
    ++count_;
    return true;
  }

  /// Removes an index that was added with this name.
  void remove(std::string_view name, std::uint32_t index) {
    std::size_t k = first(hash_of(name));
    while (entries_[k].index != index) k = next(k);
    entries_[k] = {};
    --count_;
    // What stands behind may have come there only because this place was taken.
    for (k = next(k); entries_[k].index != kNoIndex; k = next(k)) {
      const Entry moved = entries_[k];
      entries_[k] = {};
      put(moved);
    }
  }

 private:
  struct Entry {
    std::uint32_t hash = 0;
    std::uint32_t index = kNoIndex;  ///< kNoIndex: the place is free
  };

  static std::uint32_t hash_of(std::string_view name) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>()(name));
  }
  std::size_t first(std::uint32_t hash) const { return hash & (entries_.size() - 1); }
  std::size_t next(std::size_t k) const { return (k + 1) & (entries_.size() - 1); }

  /// Returns the name's place, or the free one where it would be.
  template <typename NameOf>
  std::size_t place(std::string_view name, std::uint32_t hash, const NameOf& name_of) const {
    std::size_t k = first(hash);
    while (entries_[k].index != kNoIndex &&
           (entries_[k].hash != hash || name_of(entries_[k].index) != name))
      k = next(k);
    return k;
  }

  void put(const Entry& entry) {
    std::size_t k = first(entry.hash);
    while (entries_[k].index != kNoIndex) k = next(k);
    entries_[k] = entry;
  }

  void grow() {
    std::vector<Entry> before(entries_.empty() ? 8 : 2 * entries_.size());
    before.swap(entries_);
    for (const Entry& entry : before)
      if (entry.index != kNoIndex) put(entry);
  }

  std::vector<Entry> entries_;  ///< a power of two of them, of which at most half are taken
  std::size_t count_ = 0;
};

}  // namespace mote::detail
