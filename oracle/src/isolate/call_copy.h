// SPDX-License-Identifier: Apache-2.0
// A call with everything that it points to, in memory that a worker sees too.
#pragma once

#include <span>

#include "mote/base/kernel.h"

namespace mote::isolate {

/// Copies the call, its tensors' descriptions (not their elements), its parameters and its names
/// into `to`, with an empty message. Throws Error if they do not fit.
mote_call* copy_call(const mote_call& call, std::span<char> to);

}  // namespace mote::isolate
