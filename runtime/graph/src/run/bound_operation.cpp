// SPDX-License-Identifier: Apache-2.0
#include "run/bound_operation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "state.h"

namespace mote::graph {

BoundOperation::BoundOperation(const NodeRecord& node, const NodeTensors& tensors,
                               KernelPlans& plans)
    : node_(&node) {
  if (std::holds_alternative<ControlNode>(node.work)) {
    kind_ = Kind::control;
    return;
  }
  if (const auto* work = std::get_if<CommandNode>(&node.work)) {
    call_.emplace(plans.find(*work->command, tensors, node.options.backends));
    kind_ = Kind::command;
    if (bind(tensors)) return;  // else the kernel wants other addresses than are usual
    call_.emplace(plans.make(*work->command, tensors, node.options.backends));
    point(tensors);
    return;
  }
  other_ = std::make_unique<Other>();
  keep(tensors);
  if (const auto* work = std::get_if<FillNode>(&node.work);
      work != nullptr && other_->outputs.front().device().device_type != kDLCPU) {
    auto value = std::make_shared<Tensor>(other_->outputs.front().dtype(), AxisList{});
    std::visit([&](auto number) { mote::fill(*value, number); }, work->value);
    other_->value = std::move(value);
  }
  kind_ = std::holds_alternative<CopyNode>(node.work)   ? Kind::copy
          : std::holds_alternative<FillNode>(node.work) ? Kind::fill
                                                        : Kind::function;
}

void BoundOperation::keep(const NodeTensors& tensors) {
  std::vector<Tensor> reads, writes;
  for (const NodeTensor& t : tensors.inputs) reads.push_back(t.tensor());
  for (const NodeTensor& t : tensors.outputs) writes.push_back(t.tensor());
  other_->inputs = std::move(reads);
  other_->outputs = std::move(writes);
}

bool BoundOperation::bind(const NodeTensors& tensors) {
  if (kind_ == Kind::control) return true;
  if (!is_command()) {
    keep(tensors);
    return true;
  }
  if (!tensors.have_memory) return true;
  if (!shares_as_planned(call().plan(), tensors)) return false;
  try {
    point(tensors);
    return true;
  } catch (const StatusError& e) {
    if (e.status() != MOTE_UNSUPPORTED) throw;
    return false;
  }
}

void BoundOperation::point(const NodeTensors& tensors) {
  BoundCall& call = this->call();
  for (std::size_t k = 0; k < tensors.inputs.size(); ++k)
    if (tensors.inputs[k].is_there()) call.bind_input(static_cast<int>(k), tensors.inputs[k].data);
  for (std::size_t k = 0; k < tensors.outputs.size(); ++k)
    if (tensors.outputs[k].is_there())
      call.bind_output(static_cast<int>(k), tensors.outputs[k].data);
  call.check();
}

void BoundOperation::run_other() {
  switch (kind_) {
    case Kind::given_command:
      return other_->given->run();
    case Kind::none:
    case Kind::control:
    case Kind::command:
      throw InternalError("graph: a node runs that is not prepared");
    case Kind::copy:
      return mote::copy(other_->inputs.front(), other_->outputs.front());
    case Kind::fill:
      return std::visit([&](auto value) { mote::fill(other_->outputs.front(), value); },
                        std::get<FillNode>(node_->work).value);
    case Kind::function:
      return std::get<FunctionNode>(node_->work).function(other_->inputs, other_->outputs);
  }
}

void BoundOperation::give(Stream& stream) {
  if (kind_ == Kind::command) {
    std::string text = text_of(*node_);
    other_ = std::make_unique<Other>();
    // Nothing below needs memory.
    other_->given.emplace(std::move(*call_));
    other_->given->set_text(std::move(text));
    other_->list.front() = &*other_->given;
    call_.reset();
    kind_ = Kind::given_command;
  }
  if (kind_ == Kind::given_command) return mote::run(other_->list, stream);
  mote::copy(kind_ == Kind::fill ? *other_->value : other_->inputs.front(), other_->outputs.front(),
             stream);
}

std::size_t BoundOperation::workspace_bytes() const {
  return is_command() ? call().plan().workspace_bytes() : 0;
}

}  // namespace mote::graph
