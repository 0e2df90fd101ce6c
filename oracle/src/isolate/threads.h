// SPDX-License-Identifier: Apache-2.0
// How many threads a process has.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace mote::isolate {

/// Of this process; 0 where the system does not say. A folder's links are its two own and one from
/// each folder in it.
inline std::int32_t count_threads() {
  struct stat tasks {};
  if (stat("/proc/self/task", &tasks) != 0) return 0;
  return static_cast<std::int32_t>(tasks.st_nlink) - 2;
}

}  // namespace mote::isolate
