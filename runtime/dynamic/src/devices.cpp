// SPDX-License-Identifier: Apache-2.0
// Commands on tensors of devices: they are given to the device, and only who looks at elements, or
// uses memory in another way than by such commands, waits for it.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "device/device_copy.h"
#include "device_queue.h"
#include "state.h"

namespace mote::trace {

DeviceQueue& State::queue_of(const Device& device) {
  const auto known = std::ranges::find(queues, device, [](const auto& q) { return q->device(); });
  if (known != queues.end()) return **known;
  return *queues.emplace_back(std::make_unique<DeviceQueue>(device));
}

std::uint64_t State::call_on_device(Kernel& kernel, BoundCall& call, std::span<Value* const> inputs,
                                    std::span<const Tensor* const> outputs) {
  DeviceQueue& queue = queue_of(*kernel.device);
  // Blocks of the queue are taken again only by commands that run behind this one; other memory
  // must stay until this one has run.
  std::vector<Tensor> kept;
  const auto keep = [&](const Tensor& tensor) {
    if (tensor.owns_memory() && !queue.has_block_of(tensor)) kept.push_back(tensor);
  };
  for (const Value* input : inputs)
    if (input != nullptr) keep(*input->tensor);
  for (const Tensor* output : outputs)
    if (output != nullptr) keep(*output);
  const std::uint64_t number =
      queue.issue([command = Ref<Kernel>(&kernel),
                   kept = std::move(kept)] { return to_string(command->command); },
                  call.plan().workspace_bytes(),
                  [&](void* stream, std::span<std::byte> room) { call.run_in(stream, room); });
  check_devices(inputs);
  return number;
}

void State::wait_for_devices() noexcept {
  for (const auto& queue : queues) queue->wait();
}

void State::wait_for_devices(std::span<Value* const> read, std::span<const Tensor> written) {
  const auto is_there = [](const Value* value) {
    return value != nullptr && !value->form->form.is_on_host();
  };
  const bool uses_a_device = !queues.empty() && (std::ranges::any_of(read, is_there) ||
                                                 !std::ranges::all_of(written, is_on_host));
  if (!uses_a_device) return;
  wait_for_devices();
  check_devices(read);
}

void State::check_devices(std::span<Value* const> read) {
  try {
    for (const Value* value : read) {
      if (value == nullptr || value->on_device == 0) continue;
      if (const std::optional<Device> device = Device::of(value->form->form.device))
        queue_of(*device).check(value->on_device);
    }
  } catch (...) {
    memo.clear();  // an equal command is to run again
    throw;
  }
}

bool State::has_one_owner(const Tensor& tensor) const {
  const bool is_block =
      std::ranges::any_of(queues, [&](const auto& queue) { return queue->has_block_of(tensor); });
  return tensor.owners() == (is_block ? 2 : 1);
}

}  // namespace mote::trace
