// SPDX-License-Identifier: Apache-2.0
// Makes a subject from a user's .cu file: it is compiled by the C++ compiler of the machine, and
// its kernels run on the CPU by the shim lib/mote/cuda_shim.so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mote {

/// True if the path ends in .cu.
bool is_cuda_source(std::string_view path);

/// The path of the plug-in made from the file, with one backend named after it; compiled at the
/// first call and kept as long as this process. Each line `// mote: OP FUNCTION [DTYPE] [row-major]
/// [accumulator=native|f32|f64] [without=INPUT,…] [needs=TENSOR,…]` declares a kernel: FUNCTION has
/// the signature that `mote emit OP` prints, with C linkage, followed by a cudaStream_t. Throws
/// Error without such a line, for an invalid line, and with the compiler's messages.
std::string compile_cuda_source(const std::string& path);

/// A file next to the folders of plug-ins that is not found automatically: lib/mote/NAME. Empty if
/// it does not exist; `tried` gets the paths that were tried.
std::string beside_plugins(const std::string& name, std::vector<std::string>* tried = nullptr);

}  // namespace mote
