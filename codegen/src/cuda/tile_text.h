// SPDX-License-Identifier: Apache-2.0
// The text of kernels whose blocks compute tiles.
#pragma once

#include <string>
#include <string_view>

#include "c/writer.h"

namespace mote::emit {

/// The loop over the tiles of the writer's form, in place of its shared loops.
void write_tiles(Writer& writer, const Facts& facts);

/// The functions mote_tile_… that the text calls.
std::string tile_helpers(const std::string& text);
/// The functions and types mote_wide_… that it mentions.
std::string wide_tile_helpers(const std::string& text);
/// A helper's text, in which @ stands for the dtype.
std::string of_dtype(std::string_view helper, const std::string& dtype);

}  // namespace mote::emit
