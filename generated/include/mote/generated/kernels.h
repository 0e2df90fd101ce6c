// SPDX-License-Identifier: Apache-2.0
// Looks up generated kernels (mote/base/registry.h) by op, variant, dtype and mask of inputs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "mote/base/dtype.h"
#include "mote/base/export.h"
#include "mote/base/registry.h"
#include "mote/base/tensor_mask.h"

namespace MOTE_API mote {

/// Returns all of them, sorted by op, variant, dtype, mask.
std::span<const mote_generated_kernel> generated_kernels();
/// Returns nullptr if there is none. Bit k of `input_mask`: input k of the op's record is present.
const mote_generated_kernel* find_generated(std::string_view op, std::string_view variant,
                                            DType dtype, TensorMask input_mask);

/// Searches the table of another library.
const mote_generated_kernel* find_generated(std::span<const mote_generated_kernel> kernels,
                                            std::string_view op, std::string_view variant,
                                            DType dtype, TensorMask input_mask);

/// Returns the backend `gen`: all kernels of the variant gen.
const mote_backend& gen_backend();

}  // namespace mote
