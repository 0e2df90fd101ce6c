// SPDX-License-Identifier: Apache-2.0
// Searches the sorted registry that mote-gen wrote.
#include "mote/generated/kernels.h"

#include <algorithm>
#include <tuple>

#include "mote/base/variant_names.h"

namespace mote {

std::span<const mote_generated_kernel> generated_kernels() {
  return {mote_generated_kernels, static_cast<std::size_t>(mote_generated_kernel_count)};
}

const mote_generated_kernel* find_generated(std::string_view op, std::string_view variant,
                                            DType dtype, TensorMask input_mask) {
  return find_generated(generated_kernels(), op, variant, dtype, input_mask);
}

const mote_generated_kernel* find_generated(std::span<const mote_generated_kernel> kernels,
                                            std::string_view op, std::string_view variant,
                                            DType dtype, TensorMask input_mask) {
  const auto key = [](const mote_generated_kernel& k) {
    return std::tuple(std::string_view(k.op), current_name(k.variant), std::string_view(k.dtype),
                      k.input_mask);
  };
  const auto wanted = std::tuple(op, current_name(variant), name(dtype), input_mask);
  const auto at = std::ranges::lower_bound(kernels, wanted, {}, key);
  return at != kernels.end() && key(*at) == wanted ? &*at : nullptr;
}

}  // namespace mote
