// SPDX-License-Identifier: Apache-2.0
// The static shared memory of a .cu file that is compiled for the shim, read from its object.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace mote {

/// Bytes by the name of the function that declares them; of none: "". A GPU lays out what a kernel
/// and the functions that it calls declare, so that these bytes of one function are the least that
/// a kernel of it has. Nothing where the file is no object of this machine.
std::map<std::string, std::uint64_t> static_shared_memory(const std::string& object);

}  // namespace mote
