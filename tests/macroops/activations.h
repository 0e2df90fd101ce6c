// SPDX-License-Identifier: Apache-2.0
// What each activation stands for, as C++.
#pragma once

#include <map>
#include <string>

namespace mote {

/// By name: y of x, with the op's parameters at their defaults.
const std::map<std::string, double (*)(double)>& activation_formulas();

}  // namespace mote
