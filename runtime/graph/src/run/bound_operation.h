// SPDX-License-Identifier: Apache-2.0
// The work of one node with its tensors, ready to run. Only this class knows how the runtime
// prepares a command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mote/runtime/prepared.h"
#include "mote/runtime/stream.h"
#include "mote/runtime/tensor.h"

namespace mote {
struct GraphOptions;
}

namespace mote::graph {

struct NodeRecord;

class BoundOperation {
 public:
  BoundOperation() = default;
  /// Chooses the kernel, if it is a command. Tensors that are left out are null. Throws what
  /// PreparedCommand and copy() throw; text and names are the caller's part.
  BoundOperation(const NodeRecord& node, std::vector<const Tensor*> inputs,
                 std::vector<const Tensor*> outputs, const GraphOptions& options);

  bool is_ready() const { return kind_ != Kind::none; }
  const NodeRecord& node() const { return *node_; }
  /// Runs in this thread, and waits for a device.
  void run() {
    if (kind_ == Kind::command) [[likely]]
      return prepared_->run();
    run_other();
  }
  /// Gives the work to a stream of its device; functions have none.
  void give(Stream& stream) const;
  /// Points at other tensors of the same forms. Returns false, and changes nothing, if the kernel
  /// that was chosen does not take them, so that it must be prepared anew.
  bool rebind(const std::vector<const Tensor*>& inputs, const std::vector<const Tensor*>& outputs);
  std::size_t workspace_bytes() const;

 private:
  enum class Kind : std::uint8_t { none, command, copy, fill, function };

  void run_other();
  void keep(const std::vector<const Tensor*>& inputs, const std::vector<const Tensor*>& outputs);

  Kind kind_ = Kind::none;
  bool device_ = false;
  std::shared_ptr<PreparedCommand> prepared_;
  const NodeRecord* node_ = nullptr;
  std::vector<Tensor> inputs_, outputs_;  ///< of all but commands
  std::shared_ptr<Tensor> filled_;        ///< what a fill copies to a device
};

}  // namespace mote::graph
