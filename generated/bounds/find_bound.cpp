// SPDX-License-Identifier: Apache-2.0
// Searches the sorted registry that mote-gen-bounds wrote.
#include <algorithm>
#include <span>
#include <tuple>

#include "mote/generated/bounds.h"

extern "C" {
extern const mote_generated_bound mote_bounds[];
extern const int32_t mote_bound_count;
}

namespace mote {

const mote_generated_bound* find_bound(std::string_view op, DType dtype, TensorMask input_mask) {
  const std::span all(mote_bounds, static_cast<std::size_t>(mote_bound_count));
  const auto key = [](const mote_generated_bound& b) {
    const mote_generated_kernel& k = b.kernel;
    return std::tuple(std::string_view(k.op), std::string_view(k.dtype), k.input_mask);
  };
  const auto wanted = std::tuple(op, name(dtype), input_mask);
  const auto at = std::ranges::lower_bound(all, wanted, {}, key);
  return at != all.end() && key(*at) == wanted ? &*at : nullptr;
}

}  // namespace mote
