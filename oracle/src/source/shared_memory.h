// SPDX-License-Identifier: Apache-2.0
// Reads the static shared memory of a .cu file that is compiled for the shim from its object.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace mote {

/// The bytes of shared memory by the name of the declaring function; "" for declarations outside of
/// functions. A GPU allocates all that a kernel and the functions that it calls declare, so a
/// kernel has at least the bytes of its own function. Empty if the file is not an object for this
/// machine.
std::map<std::string, std::uint64_t> static_shared_memory(const std::string& object);

}  // namespace mote
