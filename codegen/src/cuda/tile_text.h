// SPDX-License-Identifier: Apache-2.0
// Writes kernels whose blocks compute tiles.
#pragma once

#include <string>
#include <string_view>

#include "c/writer.h"

namespace mote::emit {

/// Writes the loop over the tiles of the writer's form, in place of its shared loops.
void write_tiles(Writer& writer, const Facts& facts);

/// Returns the functions mote_tile_… that the text calls.
std::string tile_helpers(const std::string& text);
/// Returns the functions and types mote_wide_… that the text mentions.
std::string wide_tile_helpers(const std::string& text);
/// Returns a helper's text, in which @ stands for the dtype.
std::string of_dtype(std::string_view helper, const std::string& dtype);

}  // namespace mote::emit
