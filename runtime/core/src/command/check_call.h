// SPDX-License-Identifier: Apache-2.0
// What can be said about a call before any kernel is asked: which tensors are there, of which
// dtypes, and that no memory is written that must not be.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "command/fit.h"
#include "mote/runtime/command.h"
#include "mote/runtime/device.h"

namespace mote {

/// The outputs that the op has where just these inputs are there, as a gradient has not where its
/// op lacks an optional input. An op of someone else's always has all.
TensorMask outputs_there(const Command& command, TensorMask input_mask);
inline bool has(TensorMask mask, int k) {
  return k >= kMaxMasked || is_in(mask, static_cast<std::size_t>(k));
}

struct CallTensors {
  std::span<const Tensor* const> inputs;
  std::span<Tensor* const> outputs;
  std::span<const CallOperand> operands;  ///< those that are there, outputs last
  std::span<const int> slots;             ///< their positions among inputs or outputs
  TensorMask input_mask = 0;              ///< those that are there
  TensorMask output_mask = 0;             ///< outputs_there()
  DType instance = DType::f32;            ///< what T is
  bool in_place = false;                  ///< an input shares memory with an output
  bool on_host = true;                    ///< some tensor is the host's
  std::optional<Device> device = {};      ///< that all are on, where a plug-in offers it
};

/// `operands` and `slots` have room for all. Throws StatusError.
CallTensors check_call(const Command& command, std::span<const Tensor* const> inputs,
                       std::span<Tensor* const> outputs, std::span<CallOperand> operands,
                       std::span<int> slots);

/// The same of the inputs alone, whose data may be absent.
CallTensors check_inputs(const Command& command, std::span<const Tensor* const> inputs,
                         std::span<CallOperand> operands, std::span<int> slots);

/// " (x f32[2,3], y f32[2,3])"
std::string describe_call(const Command& command, const CallTensors& tensors);

}  // namespace mote
