// The text of mote_cuda_host.h, which CMake puts into the plug-in.
#pragma once

namespace mote::cuda_host {

extern const char* const kHostHeader;

}  // namespace mote::cuda_host
