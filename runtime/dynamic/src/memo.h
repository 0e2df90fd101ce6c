// SPDX-License-Identifier: Apache-2.0
// Results that are kept for equal commands on the same values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "value.h"

namespace mote::trace {

/// Returns the hash that entries are found by. Others may have it too: entries are compared.
std::size_t hash_of(const Kernel& kernel, std::span<Value* const> inputs);

/// A value never changes and its number is never used again, so that an entry whose command and
/// input numbers are equal has the results. Results that a gradient can be asked of are
/// kept apart from those of a NoGradient. Entries go, the least recently used first, when results
/// take more bytes than the limit, and when no variable, entry or kept constant has an input any
/// more, so that no command can name it.
class Memo {
 public:
  explicit Memo(std::size_t limit) : limit_(limit) {}
  bool is_on() const { return limit_ > 0; }

  /// Returns the results; null if there are none.
  const std::vector<Ref<Value>>* find(const Kernel& kernel, std::span<Value* const> inputs,
                                      bool is_traced);
  void add(const Ref<Kernel>& kernel, std::span<Value* const> inputs,
           std::span<const Ref<Value>> results, bool is_traced);
  /// Forgets the entries that read the value.
  void forget(const Value& input) noexcept;
  /// Does that if no command can name the value any more.
  void forget_if_unnamed(const Value& input) noexcept;
  void clear() noexcept;

  std::size_t hits() const { return hits_; }
  /// Returns the values that entries have.
  std::vector<Value*> values() const;

 private:
  struct Entry {
    std::size_t hash;
    Ref<Kernel> kernel;
    std::vector<std::uint64_t> inputs;  ///< numbers of values; 0: left out
    std::vector<Ref<Value>> results;
    std::size_t bytes;
    bool is_traced;
  };
  using Entries = std::list<Entry>;

  void remove(Entries::iterator entry) noexcept;
  void erase_from_tables(Entries::iterator entry) noexcept;
  void take_out(Entries::iterator entry, Entries& gone) noexcept;
  void take_out_readers(const Value& input, Entries& gone) noexcept;
  void drop(Entries& gone) noexcept;

  std::size_t limit_;
  std::size_t bytes_ = 0;
  std::size_t hits_ = 0;
  Entries entries_;  ///< the most recently used first
  std::unordered_multimap<std::size_t, Entries::iterator> by_hash_;
  std::unordered_multimap<std::uint64_t, Entries::iterator> by_input_;
};

}  // namespace mote::trace
