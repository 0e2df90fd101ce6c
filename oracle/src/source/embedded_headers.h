// SPDX-License-Identifier: Apache-2.0
// The C headers that an emitted kernel with a thunk includes, as text.
#pragma once

#include <array>

namespace mote {

struct EmbeddedHeader {
  const char* path;  ///< as it is included
  const char* text;
};
extern const std::array<EmbeddedHeader, 4> kEmbeddedHeaders;
/// What a .cu file needs on a CPU, but for mote_cuda.h.
extern const std::array<EmbeddedHeader, 3> kCudaHeaders;

}  // namespace mote
