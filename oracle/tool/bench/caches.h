// SPDX-License-Identifier: Apache-2.0
// Describes the data caches of this machine's first processor.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace mote::tool {

struct DataCache {
  int level = 0;
  std::size_t bytes = 0;
  int processors = 1;  ///< those that share it
};

/// The data caches in /sys/devices/system/cpu/cpu0/cache, or another folder of that form, from the
/// first level on; empty if the system does not say. (sysconf() counts the last level of some
/// virtual machines several times.)
std::vector<DataCache> data_caches(
    const std::string& folder = "/sys/devices/system/cpu/cpu0/cache");

}  // namespace mote::tool
