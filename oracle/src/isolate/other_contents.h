// SPDX-License-Identifier: Apache-2.0
// Other elements for the same tensors, which the op takes as well.
#pragma once

#include <vector>

#include "run/buffer.h"

namespace mote::isolate {

/// By the case's seed: all elements moved on by one, or the last element of each input alone
/// another one; where a tensor repeats elements or has one, those of another seed. What a gradient
/// is given of its op's outputs follows, and indices stay what the flags of mote_indices say.
std::vector<Dense> other_contents(const Case& c, const std::vector<Dense>& inputs,
                                  std::int64_t radius, int indices);

}  // namespace mote::isolate
