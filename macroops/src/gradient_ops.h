// SPDX-License-Identifier: Apache-2.0
// Queries of the catalogue about gradients, which are ops too.
#pragma once

#include <string_view>

#include "mote/macroops/catalogue.h"

namespace mote {

inline constexpr std::string_view kGradientSuffix = ".grad";

/// True if gradient_of() made this very record.
bool is_known_gradient(const OpRecord& record);

}  // namespace mote
