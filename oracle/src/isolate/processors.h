// SPDX-License-Identifier: Apache-2.0
// The number of processors for this process and those that it starts.
#pragma once

#include <thread>

namespace mote {

/// 1 if a race between threads can hardly show; 0 if the system does not say.
inline unsigned processors() { return std::thread::hardware_concurrency(); }

}  // namespace mote
