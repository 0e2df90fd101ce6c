// SPDX-License-Identifier: Apache-2.0
// Counts the threads of this process.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace mote::isolate {

/// The number of this process's threads; 0 if the system does not say it. A folder has two links of
/// its own and one from each folder in it.
inline std::int32_t count_threads() {
  struct stat tasks {};
  if (stat("/proc/self/task", &tasks) != 0) return 0;
  return static_cast<std::int32_t>(tasks.st_nlink) - 2;
}

}  // namespace mote::isolate
