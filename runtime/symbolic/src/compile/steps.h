// SPDX-License-Identifier: Apache-2.0
// The nodes that a compiled graph runs: those of the symbolic graph in the order of evaluation, the
// fills of tensors that begin as zeros, and those of poison.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dependency_cache.h"
#include "mote/graph/schedule.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

enum class RunStepKind : std::uint8_t {
  node,
  zeros,
  poison,  ///< before a node writes the root
  death,   ///< poison behind all nodes that use the root
};

/// One step of a run: a node of the symbolic graph, or the fill of a root with zeros or poison.
struct RunStep {
  RunStepKind kind = RunStepKind::node;
  std::uint32_t index = kNoIndex;  ///< the node, or the root that is filled
};

struct Steps {
  std::vector<RunStep> steps;           ///< each after all that it depends on
  std::vector<std::uint32_t> position;  ///< by node: its step; kNoIndex if removed
  /// The steps' predecessors, and their devices, if one is not the host: 0 is the host.
  ScheduleProblem problem;
  /// The roots of kind zeros that no node writes: they are zero once and for all.
  std::vector<std::uint32_t> always_zero;
};

/// Makes the steps of the nodes in that order. A root that begins as zeros is filled before the
/// first node that uses it, unless the nodes that write it write all of it. `poisoned` says which
/// other roots are filled with poison before a node writes them, and `dying` which roots are when
/// all nodes that use them are done; either may be empty.
Steps make_steps(const SymbolicGraph& graph, std::span<const std::uint32_t> order,
                 const std::vector<bool>& poisoned, const std::vector<bool>& dying);

/// The symbols that a step reads and writes; they lie in the table or in the step.
std::span<const std::uint32_t> inputs_of(const detail::NodeTable& nodes, const RunStep& step);
std::span<const std::uint32_t> outputs_of(const detail::NodeTable& nodes, const RunStep& step);

/// Returns true if some element of a root of kind zeros may stay as it begins: the symbols that
/// nodes write do not fill it.
bool needs_fill(const SymbolicGraph& graph, std::uint32_t root,
                std::span<const std::uint32_t> writers);

}  // namespace mote
