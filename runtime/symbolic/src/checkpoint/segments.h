// SPDX-License-Identifier: Apache-2.0
// Cuts the way forward: into segments whose values are computed again together, or into the
// layers of a chain.
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/way.h"

namespace mote {

/// The positions after which the way forward is cut, rising, without the last one.
using Cuts = std::vector<std::uint32_t>;

/// The values of the way forward that may be computed again, by which it is cut.
class Segmenter {
 public:
  /// `way` must outlive this.
  Segmenter(const SymbolicGraph& graph, const ForwardWay& way);

  /// Cuts the way into about `segments` segments with equal bytes for the way back, at positions
  /// that few bytes cross.
  Cuts cut_evenly(std::size_t segments) const;
  /// Returns the bytes that cuts keep, and those of the largest segment, together.
  std::size_t bytes(const Cuts& cuts) const;

 private:
  struct Value {
    std::uint32_t root, location;
  };

  const ForwardWay& way_;
  std::vector<Value> values_;         ///< by their locations
  std::vector<std::size_t> crossed_;  ///< by position: the bytes of values that cross it
  std::vector<std::size_t> written_;  ///< by position: the bytes that the way back reads
  std::size_t all_written_ = 0;
};

/// The layers of a chain, between cuts that one value crosses: its state.
struct ChainLayers {
  std::size_t most_bytes = 0;  ///< of a state
  bool are_even = true;        ///< each has as many nodes and bytes as the others
};
ChainLayers chain_layers(const SymbolicGraph& graph, const ForwardWay& way, const Cuts& cuts);

/// Returns how many layers to go before the next state is kept, of those that have no state but the
/// first, so that the fewest steps are computed altogether (binomial_steps()): to the last layer if
/// there is no slot.
std::size_t binomial_split(std::size_t layers, std::uint64_t slots);

/// Returns the positions that exactly one value crosses, those of a chain.
Cuts chain_cuts(const SymbolicGraph& graph, const ForwardWay& way);

}  // namespace mote
