// SPDX-License-Identifier: Apache-2.0
// Gradients as ops: what the catalogue knows of them.
#pragma once

#include <string_view>

#include "mote/macroops/catalogue.h"

namespace mote {

inline constexpr std::string_view kGradientSuffix = ".grad";

/// Whether gradient_of() made this very record.
bool is_known_gradient(const OpRecord& record);

}  // namespace mote
