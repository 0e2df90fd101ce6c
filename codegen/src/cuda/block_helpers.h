// SPDX-License-Identifier: Apache-2.0
// Selects the CUDA functions that the threads of a block call together.
#pragma once

#include <string>

namespace mote::cuda {

/// Returns those functions among mote_block_sum(), mote_block_sumf() … that the text calls.
std::string block_helpers(const std::string& text);

}  // namespace mote::cuda
