// SPDX-License-Identifier: Apache-2.0
#include "run/bound_operation.h"

#include <algorithm>

#include "state.h"

namespace mote::graph {
namespace {

/// The tensors as the runtime takes outputs. A kernel writes their memory, never the Tensor.
std::vector<Tensor*> as_outputs(const std::vector<const Tensor*>& tensors) {
  std::vector<Tensor*> outputs;
  for (const Tensor* t : tensors) outputs.push_back(const_cast<Tensor*>(t));
  return outputs;
}

bool is_on_device(const Tensor& x) {
  return x.device().device_type != kDLCPU && Device::of(x.device()).has_value();
}

}  // namespace

BoundOperation::BoundOperation(const NodeRecord& node, std::vector<const Tensor*> inputs,
                               std::vector<const Tensor*> outputs, const GraphOptions& options)
    : node_(&node) {
  const auto on_device = [](const Tensor* x) { return x != nullptr && is_on_device(*x); };
  device_ = std::ranges::any_of(inputs, on_device) || std::ranges::any_of(outputs, on_device);
  if (const auto* work = std::get_if<CommandNode>(&node.work)) {
    const RunOptions with = {.backends = node.options.backends,
                             .context = options.context,
                             .without_nan = options.without_nan};
    prepared_ = std::make_shared<PreparedCommand>(work->command, inputs, as_outputs(outputs), with);
    kind_ = Kind::command;
    return;
  }
  keep(inputs, outputs);
  if (const auto* work = std::get_if<FillNode>(&node.work); work != nullptr && device_) {
    filled_ = std::make_shared<Tensor>(outputs_.front().dtype(), outputs_.front().shape());
    std::visit([&](auto value) { mote::fill(*filled_, value); }, work->value);
  }
  kind_ = std::holds_alternative<CopyNode>(node.work)   ? Kind::copy
          : std::holds_alternative<FillNode>(node.work) ? Kind::fill
                                                        : Kind::function;
}

void BoundOperation::keep(const std::vector<const Tensor*>& inputs,
                          const std::vector<const Tensor*>& outputs) {
  std::vector<Tensor> reads, writes;
  for (const Tensor* t : inputs) reads.push_back(*t);
  for (const Tensor* t : outputs) writes.push_back(*t);
  inputs_ = std::move(reads);
  outputs_ = std::move(writes);
}

void BoundOperation::run_other() {
  switch (kind_) {
    case Kind::none:
      throw InternalError("graph: a node runs that is not prepared");
    case Kind::command:
      return prepared_->run();
    case Kind::copy:
      return mote::copy(inputs_.front(), outputs_.front());
    case Kind::fill:
      return std::visit([&](auto value) { mote::fill(outputs_.front(), value); },
                        std::get<FillNode>(node_->work).value);
    case Kind::function:
      return std::get<FunctionNode>(node_->work).function(inputs_, outputs_);
  }
}

void BoundOperation::give(Stream& stream) const {
  if (kind_ == Kind::command) return mote::run(prepared_, stream);
  if (kind_ == Kind::copy) return mote::copy(inputs_.front(), outputs_.front(), stream);
  mote::copy(*filled_, outputs_.front(), stream);
}

bool BoundOperation::rebind(const std::vector<const Tensor*>& inputs,
                            const std::vector<const Tensor*>& outputs) {
  if (kind_ != Kind::command) {
    keep(inputs, outputs);
    return true;
  }
  try {
    prepared_->rebind(inputs, as_outputs(outputs));
    return true;
  } catch (const StatusError& e) {
    if (e.status() == MOTE_OUT_OF_MEMORY) throw;
    return false;
  }
}

std::size_t BoundOperation::workspace_bytes() const {
  return prepared_ ? prepared_->workspace_bytes() : 0;
}

}  // namespace mote::graph
