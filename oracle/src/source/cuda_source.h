// SPDX-License-Identifier: Apache-2.0
// A .cu file of the user's own as a subject: compiled by the C++ compiler of the machine, its
// kernels run on the CPU by the shim lib/mote/cuda_shim.so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mote {

/// Whether the path is that of such a file: it ends in .cu.
bool is_cuda_source(std::string_view path);

/// The plug-in that the file makes, with one backend called as the file is; compiled at the first
/// call and kept as long as this process. Each line `// mote: OP FUNCTION [DTYPE] [row-major]
/// [accumulator=native|f32|f64] [without=INPUT,…] [needs=TENSOR,…]` is a kernel: FUNCTION has the
/// signature that `mote emit OP` prints, with C linkage, and a cudaStream_t behind. Throws Error
/// where no line says that, for what a line says wrongly, and with the compiler's messages.
std::string compile_cuda_source(const std::string& path);

/// A file beside the folders of plug-ins, where it is none that is found by itself: lib/mote/NAME.
/// Empty where it is not there; `tried` gets where it was looked for.
std::string beside_plugins(const std::string& name, std::vector<std::string>* tried = nullptr);

}  // namespace mote
