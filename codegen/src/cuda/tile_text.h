// The text of kernels whose blocks compute tiles.
#pragma once

#include <string>

#include "../emit_c_writer.h"

namespace mote::emit {

/// The loop over the tiles of the writer's form, in place of its shared loops.
void write_tiles(Writer& writer, const Facts& facts);

/// The functions mote_tile_… that the text calls.
std::string tile_helpers(const std::string& text);

}  // namespace mote::emit
