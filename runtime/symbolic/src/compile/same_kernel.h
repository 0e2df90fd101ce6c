// SPDX-License-Identifier: Apache-2.0
// Decides whether a node runs the same kernel when outputs take the memory of inputs. Another
// kernel may sum in another order, so that results would depend on where tensors lie.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "mote/runtime/context.h"
#include "mote/symbolic/in_place.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

class SameKernels {
 public:
  /// Kernels are chosen in the context; null: among the generated ones. Both must outlive this.
  SameKernels(const SymbolicGraph& graph, Context* context) : graph_(graph), context_(context) {}

  /// Returns true if the pairs, all of one node, leave the node its kernel. Nodes with equal
  /// commands and forms are asked about once.
  bool keeps(std::span<const NodeInPlacePair> pairs);

 private:
  struct Answer {
    std::uint32_t node;
    std::vector<NodeInPlacePair> pairs;
    bool keeps;
  };

  bool is_alike(const Answer& known, std::span<const NodeInPlacePair> pairs) const;
  bool ask(std::span<const NodeInPlacePair> pairs) const;

  const SymbolicGraph& graph_;
  Context* context_;
  std::unordered_multimap<std::size_t, Answer> answers_;  ///< by the hash of command and forms
};

/// True if the node may write the root `to` in the memory of `from`, which it reads once and whole:
/// a function that says so, or a command whose op does, with the kernel that it has else.
bool may_be_in_place(const SymbolicGraph& graph, std::uint32_t node, std::uint32_t from,
                     std::uint32_t to, Context* context);

}  // namespace mote
