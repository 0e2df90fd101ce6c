// SPDX-License-Identifier: Apache-2.0
// Values of some symbols, which are found by the symbols' indices without a search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "mote/graph/large_pages.h"
#include "mote/symbolic/symbol.h"

namespace mote {

template <typename Value>
class BySymbol {
 public:
  void reserve(std::size_t symbols, std::size_t values) {
    positions_.reserve(symbols);
    detail::reserve_in_large_pages(values_, values);
  }
  /// Returns the symbol's value; null if it has none.
  const Value* find(std::uint32_t symbol) const {
    if (symbol >= positions_.size() || positions_[symbol] == kNoIndex) return nullptr;
    return &values_[positions_[symbol]];
  }
  Value* find(std::uint32_t symbol) {
    return const_cast<Value*>(std::as_const(*this).find(symbol));
  }
  /// Throws std::out_of_range if the symbol has no value.
  const Value& at(std::uint32_t symbol) const { return values_.at(positions_.at(symbol)); }
  bool contains(std::uint32_t symbol) const { return find(symbol) != nullptr; }
  /// Returns the symbol's value, an empty one if it had none. References to others are not valid
  /// any more.
  Value& operator[](std::uint32_t symbol) {
    if (Value* const known = find(symbol)) return *known;
    if (symbol >= positions_.size()) positions_.resize(std::size_t{symbol} + 1, kNoIndex);
    values_.emplace_back();
    positions_[symbol] = static_cast<std::uint32_t>(values_.size() - 1);
    return values_.back();
  }
  /// Calls use(symbol, value) for each symbol that has one, in rising order.
  template <typename Use>
  void each(const Use& use) const {
    for (std::uint32_t symbol = 0; symbol < positions_.size(); ++symbol)
      if (positions_[symbol] != kNoIndex) use(symbol, values_[positions_[symbol]]);
  }

 private:
  std::vector<std::uint32_t> positions_;  ///< by symbol, in values_; kNoIndex: it has none
  std::vector<Value> values_;
};

}  // namespace mote
