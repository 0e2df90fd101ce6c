// SPDX-License-Identifier: Apache-2.0
// Records of the C ABI without special features, for tests to start from.
#pragma once

#include <cstdint>
#include <span>

#include "mote/base/kernel.h"
#include "mote/base/ops.h"

namespace mote::test {

/// Promises sums in the dtype and equal bits for equal calls, and no more.
inline constexpr mote_contract kPlainContract = {.size = sizeof(mote_contract),
                                                 .accumulator = MOTE_ACC_NATIVE,
                                                 .multiply_rounding = 0,
                                                 .flushes_denormals = 0,
                                                 .deterministic = 1,
                                                 .form = "direct",
                                                 .function_count = 0,
                                                 .in_place_count = 0,
                                                 .functions = nullptr,
                                                 .in_place = nullptr,
                                                 .ignores_nan = 0,
                                                 .reserved = 0,
                                                 .indices = MOTE_INDICES_ANY,
                                                 .reserved_end = 0};

/// Returns an op without parameters or pairs. The tensors must outlive it.
inline mote_op_definition plain_definition(const char* name, std::span<const mote_op_tensor> inputs,
                                           std::span<const mote_op_tensor> outputs) {
  return {.name = name,
          .family = "test",
          .equation = "",
          .policy = "",
          .source = "",
          .input_count = static_cast<std::int32_t>(inputs.size()),
          .output_count = static_cast<std::int32_t>(outputs.size()),
          .param_count = 0,
          .pair_count = 0,
          .inputs = inputs.data(),
          .outputs = outputs.data(),
          .params = nullptr,
          .in_place = nullptr};
}

}  // namespace mote::test
