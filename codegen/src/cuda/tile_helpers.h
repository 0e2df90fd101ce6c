// SPDX-License-Identifier: Apache-2.0
// The functions that kernels of tiles call.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace mote::emit {

/// Returns the functions with these names that kernels of tiles call; the names of the helpers that
/// they call are added.
std::string tile_helpers(std::set<std::string>& names);
/// Returns the functions and types that kernels of pipelined tiles need.
std::string pipelined_tile_helpers(const std::set<std::string>& names);
/// Returns a helper's text, in which @ stands for the dtype.
std::string of_dtype(std::string_view helper, const std::string& dtype);

}  // namespace mote::emit
