// SPDX-License-Identifier: Apache-2.0
// The texts of mote_cuda_host.h and mote_cuda_checked.h, which CMake puts into the plug-in.
#pragma once

namespace mote::cuda_host {

extern const char* const kHostHeader;
extern const char* const kCheckedHeader;

}  // namespace mote::cuda_host
