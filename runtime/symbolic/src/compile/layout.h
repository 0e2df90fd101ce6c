// SPDX-License-Identifier: Apache-2.0
// Decides when and where each node of a graph runs and each tensor lies: order, streams, in place,
// lifetimes, offsets. It needs no memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "compile/blocks.h"
#include "compile/control_layout.h"
#include "compile/steps.h"
#include "mote/graph/schedule.h"
#include "mote/memory/plan.h"
#include "mote/symbolic/compile.h"

namespace mote {

struct GraphLayout {
  std::vector<std::uint32_t> order;  ///< the nodes in the order of evaluation
  std::vector<SharedPair> pairs;
  Steps steps;
  StreamSchedule schedule;
  std::map<std::uint32_t, ControlLayout> controls;  ///< by node
  /// That nodes copy which are not in the graphs of loops and branches, but were added to them.
  std::uint64_t copied_bytes = 0;
  Blocks blocks;
  std::vector<MemoryPlan> plans;  ///< by device, in the order of Blocks::devices
};

/// The bytes of all devices.
std::uint64_t planned_bytes(const GraphLayout& layout);

/// Lays out the graph, whose outputs are kept after a run. `bound` are outputs in the caller's
/// memory. It reads these options: streams, in_place, order, memory, poison and plan. Kernels are
/// chosen in the context; null: among the generated ones.
GraphLayout lay_out(const SymbolicGraph& graph, std::span<const std::uint32_t> bound,
                    const CompileOptions& options, Context* context);

/// Lays out a body of a loop or a branch, on one stream. Its last output, if it has more than are
/// bound, is a condition: what computes it comes first. `clocks` are those of values that it
/// carries through loops inside, and `pointed` has its values that have pointers.
GraphLayout lay_out_body(const SymbolicGraph& graph, std::span<const std::uint32_t> bound,
                         const CompileOptions& options, Context* context, const LoopClocks& clocks,
                         const PointedGraph& pointed);

/// Lays out the graph in the order and at the offsets of `largest`, the layout of the same graph
/// for larger shapes. Returns nothing if the passes made another graph of it, or if its tensors do
/// not fit there.
std::optional<GraphLayout> lay_out_within(const GraphLayout& largest, const SymbolicGraph& graph,
                                          std::span<const std::uint32_t> bound,
                                          const CompileOptions& options, Context* context);

}  // namespace mote
