// SPDX-License-Identifier: Apache-2.0
// Longer ops as they are written with other ops, for Formula::differentiate().
#pragma once

#include <string_view>

#include "gradient/formula.h"

namespace mote {

/// attention with any of its optional inputs and outputs.
void write_attention(Formula& f);
void write_adaptive_max_pool2d(Formula& f);
void write_max_pool3d(Formula& f);
/// A loss over classes of that name, with its optional weights.
void write_class_loss(Formula& f, std::string_view op);

}  // namespace mote
