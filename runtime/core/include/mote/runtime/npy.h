// SPDX-License-Identifier: Apache-2.0
// Tensors as NumPy's .npy (format versions 1 to 3). NumPy lacks bf16: it is written as '<V2', as
// the package ml_dtypes does, and '<V2' and '|V2' are read as bf16. A malformed file throws
// StatusError "npy: …"; nothing is allocated before the sizes are checked against the file.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/runtime/tensor.h"

namespace MOTE_API mote {

/// Reads the bytes of a .npy file. The result owns its memory; an array in Fortran order becomes a
/// view with the first stride 1. Big-endian elements are swapped.
Tensor parse_npy(std::span<const std::byte> bytes,
                 const Allocator& allocator = default_allocator());
/// Returns the bytes of a .npy file of version 1: little-endian, row-major.
std::vector<std::byte> to_npy(const Tensor& tensor);

/// Reads or writes the file; errors name it.
Tensor read_npy(const std::string& path, const Allocator& allocator = default_allocator());
void write_npy(const std::string& path, const Tensor& tensor);

}  // namespace mote
