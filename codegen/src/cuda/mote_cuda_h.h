// SPDX-License-Identifier: Apache-2.0
// Declares the text of mote_cuda.h, which CMake embeds in the library.
#pragma once

namespace mote {

extern const char* const kMoteCudaHeader;

}  // namespace mote
