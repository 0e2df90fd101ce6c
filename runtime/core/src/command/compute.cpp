// SPDX-License-Identifier: Apache-2.0
// A run with outputs that are allocated for it.
#include <vector>

#include "command/check_call.h"
#include "mote/runtime/infer.h"

namespace mote {

std::vector<Tensor> compute(const Command& command, std::span<const Tensor* const> inputs,
                            const RunOptions& options, std::optional<DType> dtype) {
  TensorMask input_mask = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k] != nullptr) input_mask |= mask_bit(k);
  const TensorMask there = outputs_there(command, input_mask);
  const std::vector<TensorForm> forms = infer(command, inputs, dtype);
  std::vector<Tensor> outputs(forms.size());
  std::vector<Tensor*> pointers(forms.size());
  for (std::size_t k = 0; k < forms.size(); ++k) {
    if (!has(there, static_cast<int>(k))) continue;
    const std::optional<Device> device = Device::of(forms[k].device);
    outputs[k] = device ? Tensor(forms[k].dtype, forms[k].shape, *device)
                        : Tensor(forms[k].dtype, forms[k].shape);
    pointers[k] = &outputs[k];
  }
  run(command, inputs, pointers, options);
  return outputs;
}

std::vector<Tensor> compute(const Command& command, std::initializer_list<const Tensor*> inputs,
                            const RunOptions& options, std::optional<DType> dtype) {
  return compute(command, std::span(inputs.begin(), inputs.size()), options, dtype);
}

}  // namespace mote
