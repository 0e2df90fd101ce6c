// SPDX-License-Identifier: Apache-2.0
// Measures processor time, to which other work on the machine adds little, for tests of how a cost
// grows.
#pragma once

#include <ctime>

namespace mote::test {

/// Returns the seconds of processor time that the call takes, in all threads of the process.
template <typename Call>
double cpu_seconds(const Call& call) {
  const std::clock_t begin = std::clock();
  call();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

}  // namespace mote::test
