// SPDX-License-Identifier: Apache-2.0
// Named tensors as NumPy's .npz: a zip file of .npy files, stored or deflated. Apart from
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

/// Names are those of the entries without ".npy". StatusError for a file that is no zip, is cut
/// off, is encrypted or compressed in another way, or whose sizes or checksums are wrong.
NamedTensors parse_npz(std::span<const std::byte> bytes,
                       const Allocator& allocator = default_allocator());
enum class Compression : bool { stored, deflated };
/// StatusError beyond 2^32-2 bytes an entry or in all, and for names that are no file names.
std::vector<std::byte> to_npz(const NamedTensors& tensors, Compression compression);

NamedTensors read_npz(const std::string& path, const Allocator& allocator = default_allocator());
void write_npz(const std::string& path, const NamedTensors& tensors,
               Compression compression = Compression::stored);

}  // namespace mote
