// SPDX-License-Identifier: Apache-2.0
// Adds to a list without duplicates.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace mote {

inline void add_once(std::vector<std::string>& all, const std::string& one) {
  if (std::ranges::find(all, one) == all.end()) all.push_back(one);
}

}  // namespace mote
