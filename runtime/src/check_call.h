// What can be said about a call before any kernel is asked: which tensors are there, of which
// dtypes, and that no memory is written that must not be.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "fit.h"
#include "mote/runtime/command.h"

namespace mote {

/// Bit k: the op has output k where just these inputs are there, as a gradient has not where its op
/// lacks an optional input. An op of someone else's always has all.
std::uint32_t outputs_there(const Command& command, std::uint32_t input_mask);
inline bool has(std::uint32_t mask, int k) { return k >= 32 || (mask >> k & 1U) != 0; }

struct CallTensors {
  std::span<const Tensor* const> inputs;
  std::span<Tensor* const> outputs;
  std::span<const CallOperand> operands;  ///< those that are there, outputs last
  std::span<const int> slots;             ///< their positions among inputs or outputs
  std::uint32_t input_mask = 0;           ///< bit k: input k is there
  std::uint32_t output_mask = 0;          ///< outputs_there()
  DType instance = DType::f32;            ///< what T is
  bool in_place = false;                  ///< an input shares memory with an output
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
