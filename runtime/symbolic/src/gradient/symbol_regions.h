// SPDX-License-Identifier: Apache-2.0
// The tensors of a graph, and the regions of them that symbols are. Symbols below a boundary count
// as tensors of their own, even if they are views: so a part of a graph is looked at by itself.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "mote/symbolic/region_index.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

class SymbolRegions {
 public:
  SymbolRegions(const SymbolicGraph& graph, std::uint32_t boundary)
      : graph_(graph), boundary_(boundary) {}

  bool is_root(std::uint32_t symbol) const {
    return symbol < boundary_ || graph_.symbols()[symbol].kind != SymbolOrigin::view;
  }
  std::uint32_t root_of(std::uint32_t symbol) const;
  /// Returns the views from the root to the symbol, the root's first.
  std::vector<std::uint32_t> views_to(std::uint32_t symbol) const;
  /// Returns the form of a tensor that has a place for each element of the root, at the root's
  /// place if the root's elements are distinct.
  TensorForm form_of(std::uint32_t root) const;
  /// Returns the symbol's region in a tensor of that form.
  ViewRegion region(std::uint32_t symbol) const;
  /// Returns views of `base`, each of the one before, that have the elements of the last of `views`
  /// once each: that one is a broadcast of them. `views` lead from `base`, whose elements are
  /// distinct.
  std::vector<ViewStep> views_without_repetition(std::uint32_t base,
                                                 std::span<const std::uint32_t> views) const;

 private:
  const SymbolicGraph& graph_;
  std::uint32_t boundary_;
};

/// Sets of elements of tensors.
class ElementSet {
 public:
  explicit ElementSet(const SymbolRegions& regions) : regions_(regions) {}

  void add(std::uint32_t symbol);
  bool overlaps(std::uint32_t symbol) const;

 private:
  bool is_whole(std::uint32_t root) const { return root < whole_.size() && whole_[root]; }

  const SymbolRegions& regions_;
  std::vector<bool> whole_;  ///< by root: all of its elements are there
  std::unordered_map<std::uint32_t, RegionIndex> parts_;  ///< of other roots
};

}  // namespace mote
