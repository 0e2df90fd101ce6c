// SPDX-License-Identifier: Apache-2.0
// Decides where the results of loops and branches are, so that no byte is copied: what a loop
// carries over has one of several locations in turn, by the number of the iteration, and what a
// case..of gives is where its branch has it.
//
// A tensor that iteration c of a body computes and that a later one reads d iterations afterwards
// lies in a ring of d + 1 locations, at location c mod (d + 1); of d locations, if all that read
// the oldest are done before it is written. The carried input is at the same location d iterations
// later, and before that where the loop's own inputs are. Values that are only passed on from input
// to input take turns. Where only the run decides the location, a pointer shows it
// (pointed_values.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "compile/pointed_values.h"
#include "compile/through_loops.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/view.h"

namespace mote {

struct GraphLayout;

/// A location of a result.
struct ResultLocation {
  enum class Kind : std::uint8_t {
    input,    ///< the node's input `index`
    slot,     ///< memory of the graph around, ControlLayout::slots[index]
    constant  ///< the constant `index` of the graph that gives it
  };
  Kind kind = Kind::input;
  std::uint32_t index = 0;
  std::uint32_t graph = 0;  ///< of a constant
  /// The part that the result is, if it is not the whole tensor.
  std::optional<ViewRegion> part = {};
};

/// The location at position p is first[p], or cycle[(p - first.size()) % cycle.size()]:
/// TensorChoice.
struct ResultLocations {
  std::vector<ResultLocation> first, cycle;
  std::uint64_t clock = 0;  ///< not 0: the position is what it shows
  /// Not 0: it is where this shows, in one of the locations, of which the first is a region.
  std::uint64_t pointer = 0;
};

/// A body or a branch.
struct SubLayout {
  /// A root that lies in slots of the graph around: in iteration c in the one at c mod their
  /// number.
  struct Root {
    std::uint32_t symbol;
    std::vector<std::uint32_t> slots;
    std::uint64_t clock = 0;  ///< not 0: by what it shows, in place of the iteration
    /// Not 0: in a slot, anew in each iteration, in which no pointer of `held` shows anything.
    std::uint64_t pointer = 0;
    std::vector<std::uint64_t> held = {};
  };
  /// A slot of this loop that is one of an inner loop, too.
  struct Lent {
    std::uint32_t node;   ///< the inner loop
    std::uint32_t inner;  ///< its slot
    std::uint32_t slot;
  };
  SymbolicGraph graph;  ///< the body or branch, as it is compiled
  std::shared_ptr<GraphLayout> layout;
  std::vector<Root> roots;
  std::optional<Root> counter;  ///< if it has slots
  std::vector<Lent> lent;
};

/// The memory of one device that the tensors in a loop or a case..of take while it runs: the most
/// that one of the graphs needs.
struct InnerArena {
  DLDevice device{kDLCPU, 0};
  std::uint64_t bytes = 0;
  std::uint32_t block = 0xFFFFFFFF;  ///< of the graph around, among those of the device
};

struct ControlLayout {
  std::vector<SubLayout> subs;
  std::vector<TensorForm> slots;
  std::vector<bool> is_lent;          ///< by slot: it is one of the loop around; none: no slot is
  std::vector<std::uint64_t> starts;  ///< clocks of a loop
  std::vector<std::vector<std::uint64_t>> counts;  ///< clocks, by graph; fewer: none
  std::vector<ResultLocations> results;  ///< by output; of a loop also where its carried inputs are
  std::vector<InnerArena> arenas;
  std::vector<std::uint32_t> slot_blocks;  ///< by slot, among those of its device
  std::map<std::uint64_t, std::vector<std::uint32_t>> regions;  ///< slots, by RegionSet
};

/// True if the slot is one of the loop around.
inline bool is_lent(const ControlLayout& control, std::size_t slot) {
  return slot < control.is_lent.size() && control.is_lent[slot];
}

/// Lays out the graphs of a node, each on one stream. `clocks` has those of the values that a loop
/// around carries through it, and `pointed` those that have pointers there.
ControlLayout lay_out_control(const NodeInfo& node, const CompileOptions& options, Context* context,
                              const ValueClocks& clocks = {}, const PointedNode* pointed = nullptr);

}  // namespace mote
