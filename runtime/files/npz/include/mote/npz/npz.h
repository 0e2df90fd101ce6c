// SPDX-License-Identifier: Apache-2.0
// Named tensors as NumPy's .npz: a zip file of .npy files, stored or deflated. It is not part of
// mote_runtime, since it needs zlib. Errors are StatusError "npz: …".
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/runtime/tensor.h"

namespace MOTE_API mote {

using NamedTensors = std::map<std::string, Tensor>;

/// Reads a .npz; names are those of the entries without ".npy". Throws StatusError for a file that
/// is no zip, is truncated, is encrypted or compressed by another method, or has wrong sizes or
/// checksums.
NamedTensors parse_npz(std::span<const std::byte> bytes,
                       const Allocator& allocator = default_allocator());
enum class Compression : bool { stored, deflated };
/// Throws StatusError if an entry or the whole exceeds 2^32-2 bytes, and for names that are no file
/// names.
std::vector<std::byte> to_npz(const NamedTensors& tensors, Compression compression);

NamedTensors read_npz(const std::string& path, const Allocator& allocator = default_allocator());
void write_npz(const std::string& path, const NamedTensors& tensors,
               Compression compression = Compression::stored);

}  // namespace mote
