// SPDX-License-Identifier: Apache-2.0
// Checks of a call that need no kernel: which tensors are present, of which dtypes, and that no
// tensor is written that must not be. A call that is only planned has made-up addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "command/fit.h"
#include "mote/runtime/command.h"
#include "mote/runtime/device.h"

namespace mote {

/// Returns the outputs that the op has if exactly these inputs are present; a gradient, for
/// example, lacks some if its op's optional input is missing. An op without generated kernels
/// always has all.
TensorMask outputs_there(const Command& command, TensorMask input_mask);
inline bool has(TensorMask mask, int k) {
  return k >= kMaxMasked || is_in(mask, static_cast<std::size_t>(k));
}

/// The tensors of a call, all with strides; null for one that is left out.
using TensorList = std::span<const DLTensor* const>;

struct CallTensors {
  std::size_t input_count = 0;            ///< as given, with those that are left out
  std::size_t output_count = 0;           ///< as given
  std::span<const CallOperand> operands;  ///< the tensors that are present, outputs last
  std::span<const int> slots;             ///< their positions among inputs or outputs
  TensorMask input_mask = 0;              ///< the inputs that are present
  TensorMask output_mask = 0;             ///< outputs_there()
  DType instance = DType::f32;            ///< the dtype T
  bool in_place = false;                  ///< an input shares memory with an output
  bool on_host = true;                    ///< some tensor is on the host, or there is none
  std::optional<Device> device = {};      ///< the device of all tensors, if a plug-in offers it
};

/// Checks a call. `operands` and `slots` must have room for all tensors. Throws StatusError.
CallTensors check_call(const Command& command, TensorList inputs, TensorList outputs,
                       std::span<CallOperand> operands, std::span<int> slots);

/// Checks the inputs alone, whose data may be absent.
CallTensors check_inputs(const Command& command, TensorList inputs, std::span<CallOperand> operands,
                         std::span<int> slots);

/// Fills `room`, which has the length of both, with the inputs and then the outputs.
void list_tensors(std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs,
                  std::span<const DLTensor*> room);

/// Returns text such as " (x f32[2,3], y f32[2,3])".
std::string describe_call(const Command& command, const CallTensors& tensors);

}  // namespace mote
