// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mote::tool {

/// Lets kernels of all libraries use that many threads. It must be called before backends are
/// loaded, since OpenBLAS reads its variables then. On a processor with AVX-512 it also tells
/// OpenBLAS so, unless $OPENBLAS_CORETYPE is set: OpenBLAS takes processors that are newer than
/// itself for older ones, which would make it a poor peer.
void set_kernel_threads(int threads);

/// The number of threads that the machine runs at once.
int most_threads();

}  // namespace mote::tool
