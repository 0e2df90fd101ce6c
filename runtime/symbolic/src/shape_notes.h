// SPDX-License-Identifier: Apache-2.0
// Notes on symbols: which symbol's shape theirs is made of, where no node infers it. A gradient
// writes them, so that a graph for other shapes (SymbolicGraph::with_forms()) is that of the
// gradient for these. They are an attribute of the graph, which lives as long as it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// Groups of neighbouring axes: an axis of a shape is the product of a group of another shape's
/// axes, which is 1 for an empty group.
class AxisGroups {
 public:
  void push_back(int begin, int count);
  int size() const { return size_; }
  AxisList of(const AxisList& axes) const;

  friend bool operator==(const AxisGroups&, const AxisGroups&) = default;

 private:
  struct Group {
    std::uint8_t begin = 0;
    std::uint8_t count = 0;
    friend bool operator==(const Group&, const Group&) = default;
  };
  int size_ = 0;
  std::array<Group, static_cast<std::size_t>(kMaxAxes)> groups_{};
};

/// Each axis by itself.
AxisGroups each_axis(int count);

enum class ShapeNoteKind : std::uint8_t {
  follows,  ///< the symbol, a view or a root, has the shape that the groups make of that of `of`
  equals,   ///< likewise, by what computes it; where it has another shape, the graph does not hold
  stays     ///< the symbol's value holds only for the shape that `of` has
};

struct ShapeNote {
  ShapeNoteKind kind = ShapeNoteKind::follows;
  std::uint32_t of = kNoIndex;
  AxisGroups groups = {};

  friend bool operator==(const ShapeNote&, const ShapeNote&) = default;
};

void note_shape(SymbolicGraph& graph, TensorSymbol symbol, const ShapeNote& note);
bool has_shape_notes(const SymbolicGraph& graph);
std::span<const ShapeNote> shape_notes(const SymbolicGraph& graph, std::uint32_t symbol);

/// Gives the notes of symbols that are replaced to those that replace them: these must have the
/// shapes of both.
void replace_in_shape_notes(SymbolicGraph& graph,
                            const std::unordered_map<std::uint32_t, std::uint32_t>& by_index);

}  // namespace mote
