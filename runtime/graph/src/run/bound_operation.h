// SPDX-License-Identifier: Apache-2.0
// The work of one node with its tensors, ready to run. Only this class and KernelPlans know how the
// runtime prepares a command.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mote/runtime/bound_call.h"
#include "mote/runtime/operation.h"
#include "mote/runtime/stream.h"
#include "mote/runtime/tensor.h"
#include "run/kernel_plans.h"

namespace mote::graph {

struct NodeRecord;

class BoundOperation {
  /// A command that a stream was given is a list of one operation, as streams take it.
  enum class Kind : std::uint8_t { none, command, given_command, copy, fill, function, control };

 public:
  BoundOperation() = default;
  /// Chooses the kernel, if it is a command. Tensors that have no memory yet are bound later.
  /// Throws what KernelPlan::make() and copy() throw.
  BoundOperation(const NodeRecord& node, const NodeTensors& tensors, KernelPlans& plans);

  /// Points at the tensors, which have the forms of those before. False if the kernel that was
  /// chosen does not take them, so that the operation must be made anew.
  bool bind(const NodeTensors& tensors);

  bool exists() const { return kind_ != Kind::none; }
  const NodeRecord& node() const { return *node_; }
  /// Runs in this thread, and waits for a device.
  void run() {
    if (kind_ == Kind::command) [[likely]]
      return call_->run();
    run_other();
  }
  /// Gives the work to a stream of its device; functions have none. It must stay where it is until
  /// the work is done.
  void give(Stream& stream);
  std::size_t workspace_bytes() const;

 private:
  /// The fields that only few nodes need.
  struct Other {
    std::vector<Tensor> inputs, outputs;       ///< of a copy, a fill or a function
    std::shared_ptr<const Tensor> value;       ///< the element that a fill copies to a device
    std::optional<PreparedOperation> given;    ///< a command for streams
    std::array<PreparedOperation*, 1> list{};  ///< it
  };

  bool is_command() const { return kind_ == Kind::command || kind_ == Kind::given_command; }
  BoundCall& call() { return call_ ? *call_ : *other_->given->bound_call(); }
  const BoundCall& call() const { return call_ ? *call_ : *other_->given->bound_call(); }
  void run_other();
  void keep(const NodeTensors& tensors);
  void point(const NodeTensors& tensors);

  Kind kind_ = Kind::none;
  const NodeRecord* node_ = nullptr;
  std::optional<BoundCall> call_;  ///< of a command that no stream was given
  std::unique_ptr<Other> other_;   ///< of all others
};

}  // namespace mote::graph
