// SPDX-License-Identifier: Apache-2.0
// Makes other elements for the same tensors that the op takes too.
#pragma once

#include <vector>

#include "run/buffer.h"

namespace mote::isolate {

/// Other inputs, chosen by the case's seed: all elements moved by one position, or only the last
/// element of each input changed. A tensor that repeats or has fewer than two elements takes those
/// of another seed. The inputs of a gradient that are outputs of its op are computed anew, and
/// indices respect the flags of mote_indices.
std::vector<Dense> other_contents(const Case& c, const std::vector<Dense>& inputs,
                                  std::int64_t radius, int indices);

}  // namespace mote::isolate
