// SPDX-License-Identifier: Apache-2.0
// The plans of a graph's commands: nodes of one command whose tensors have the same forms, and
// share memory in the same way, have one plan.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "mote/runtime/kernel_plan.h"
#include "mote/runtime/tensor.h"
#include "shared_values.h"

namespace mote::graph {

/// A tensor of a node; a null form: it is left out.
struct NodeTensor {
  bool is_there() const { return form != nullptr; }
  Tensor tensor() const;

  const GraphForm* form = nullptr;
  std::byte* data = nullptr;
  const Tensor* owner = nullptr;  ///< shares its memory; null if the caller keeps it
};

/// The tensors of a node. The tensors of a placeholder that is not bound have addresses that
/// stand for its memory; no two placeholders share any.
struct NodeTensors {
  std::vector<NodeTensor> inputs, outputs;
  bool have_memory = true;
};

/// True if the node's tensors share memory as the plan says.
bool shares_as_planned(const KernelPlan& plan, const NodeTensors& tensors);

class KernelPlans {
 public:
  explicit KernelPlans(const RunOptions& options) : options_(options) {}

  /// Returns a plan for the command, an old one if that has the same forms. Equal commands, and
  /// equal forms, are one object.
  std::shared_ptr<const KernelPlan> find(const Command& command, const NodeTensors& tensors,
                                         const std::vector<const mote_backend*>& backends);
  /// Makes a plan for these tensors and their addresses, which no other node gets.
  std::shared_ptr<const KernelPlan> make(const Command& command, const NodeTensors& tensors,
                                         const std::vector<const mote_backend*>& backends);
  std::size_t made() const { return made_; }

 private:
  struct Entry {
    std::shared_ptr<const KernelPlan> plan;
    const Command* command;
    std::vector<const GraphForm*> forms;  ///< of all inputs and outputs; null: left out
    std::vector<const mote_backend*> backends;
  };

  RunOptions options_;
  std::unordered_multimap<std::size_t, Entry> entries_;
  std::size_t made_ = 0;
};

}  // namespace mote::graph
