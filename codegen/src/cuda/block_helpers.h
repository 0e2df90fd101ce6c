// SPDX-License-Identifier: Apache-2.0
// Selects the CUDA functions that the threads of a block call together.
#pragma once

#include <set>
#include <string>

namespace mote::cuda {

/// Returns the functions with these names among mote_block_sum(), mote_block_sumf() …; the names of
/// the helpers that they call are added.
std::string block_helpers(std::set<std::string>& names);

}  // namespace mote::cuda
