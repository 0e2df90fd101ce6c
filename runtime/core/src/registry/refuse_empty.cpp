// SPDX-License-Identifier: Apache-2.0
#include "registry/refuse_empty.h"

#include <algorithm>
#include <vector>

#include "command/check_call.h"
#include "mote/runtime/kernel_plan.h"
#include "mote/runtime/status.h"

namespace mote {

void refuse_empty(const Command& command, TensorMask present,
                  std::span<const TensorForm* const> inputs, std::span<const TensorForm> outputs) {
  const auto has_no_element = [](const TensorForm* form) {
    return form != nullptr && std::ranges::find(form->shape, 0) != form->shape.end();
  };
  if (command.generated().empty() || std::ranges::none_of(inputs, has_no_element)) return;
  const TensorMask there = outputs_there(command, present);
  std::vector<const TensorForm*> pointers(outputs.size());
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (has(there, static_cast<int>(k))) pointers[k] = &outputs[k];
  try {
    KernelPlan::make(command, inputs, pointers);
  } catch (const StatusError& e) {
    if (e.status() == MOTE_INVALID) throw;  // that no kernel takes a legal call is no fault of it
  }
}

}  // namespace mote
