// SPDX-License-Identifier: Apache-2.0
// The C headers that an emitted kernel with a thunk includes, as text.
#pragma once

#include <array>

namespace mote {

struct EmbeddedHeader {
  const char* path;  ///< the path in an #include
  const char* text;
};
extern const std::array<EmbeddedHeader, 5> kEmbeddedHeaders;
/// The headers that a .cu file needs on a CPU, except mote_cuda.h.
extern const std::array<EmbeddedHeader, 3> kCudaHeaders;

}  // namespace mote
