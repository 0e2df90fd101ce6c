// SPDX-License-Identifier: Apache-2.0
// A symbol and the tensor that holds it.
#pragma once

#include <utility>

#include "mote/runtime/tensor.h"
#include "mote/symbolic/symbol.h"

namespace MOTE_API mote {

/// A symbol and the tensor that holds it.
using TensorBinding = std::pair<TensorSymbol, Tensor>;

}  // namespace mote
