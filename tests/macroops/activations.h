// SPDX-License-Identifier: Apache-2.0
// The formulas of the activations in C++.
#pragma once

#include <map>
#include <string>

namespace mote {

/// Returns the formulas by name: y of x, with the op's parameters at their defaults.
const std::map<std::string, double (*)(double)>& activation_formulas();

}  // namespace mote
