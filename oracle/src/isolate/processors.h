// SPDX-License-Identifier: Apache-2.0
// How many processors there are for this process and those that it starts.
#pragma once

#include <thread>

namespace mote {

/// 1 where a race between threads can hardly show; 0 where the system does not say.
inline unsigned processors() { return std::thread::hardware_concurrency(); }

}  // namespace mote
