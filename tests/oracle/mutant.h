// SPDX-License-Identifier: Apache-2.0
// Paths of the planted bugs of tests/mutants.
#pragma once

#include <string>

namespace mote::test {

/// Returns the path of a mutant's plug-in.
inline std::string mutant(const std::string& name) {
  return std::string(MOTE_MUTANTS_FOLDER) + "/" + name + ".so";
}

}  // namespace mote::test
