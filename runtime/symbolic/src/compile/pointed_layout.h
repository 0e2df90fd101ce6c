// SPDX-License-Identifier: Apache-2.0
// The slots of a loop or case..of in which values with pointers take turns (pointed_values.h).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "compile/control_layout.h"
#include "compile/pointed_values.h"
#include "mote/graph/graph.h"

namespace mote {

/// Returns the results of a node that need pointers, but those that have a location already:
/// what a loop or case..of inside gives and none carries on, and the counter of a loop.
/// `has_location`: by result; those behind its end have none.
std::vector<std::uint32_t> results_without_location(const NodeInfo& node,
                                                    const std::vector<bool>& has_location);

/// Finds the values with pointers: those of `around`, which the graph around knows, if it is not
/// null, and those that the results `seeds` need.
PointedNode all_pointed_values(const NodeInfo& node, const PointedNode* around,
                               const std::vector<std::uint32_t>& seeds);

/// Adds the slots of all sets; those that the graph around knows are lent.
void add_regions(ControlLayout& layout, const PointedNode& pointed, const PointedNode* around);
/// Adds what graph g computes, which is to be laid out then.
void add_pointed_roots(ControlLayout& layout, const PointedNode& pointed, std::size_t g);
/// Lends the slots to the loops and branches in graph g, which has been laid out.
void lend_regions(ControlLayout& layout, const PointedNode& pointed, std::size_t g);
/// Returns the locations of a result.
ResultLocations pointed_result(const ControlLayout& layout, const PointedNode& pointed,
                               std::uint32_t k);

/// Returns how many bytes of the form lie below its first element.
std::int64_t bytes_below(const TensorForm& form);
/// Adds a tensor that is where the pointer shows: in one of the regions, u8[n], or where others
/// are.
GraphTensor pointed_tensor(Graph& graph, const TensorForm& form, TensorChoice choice,
                           std::string_view name);

struct PointedRoot {
  GraphTensor tensor;
  RegionTake take;  ///< when an iteration of the loop begins, or the branch
};
/// Adds a root of the body or branch `of` that has a pointer. `slots`: those of the node.
PointedRoot add_pointed_root(Graph& graph, const SymbolicGraph& of, const SubLayout::Root& root,
                             std::span<const GraphTensor> slots);

}  // namespace mote
