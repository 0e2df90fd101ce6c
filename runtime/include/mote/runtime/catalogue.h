// The ops that were generated at build time, as attributes in a registry.
#pragma once

#include <utility>
#include <vector>

#include "mote/base/ops.h"
#include "mote/runtime/registry.h"

namespace mote {

/// "definition": what run() goes by. A plug-in's op has one too.
using Definition = const mote_op_definition*;
inline constexpr const char* kDefinition = "definition";
/// "in_place": (input, output) pairs that may share memory.
using InPlacePairs = std::vector<std::pair<int, int>>;
inline constexpr const char* kInPlace = "in_place";

/// Every op of the catalogue, with its family as its group, "definition" and "in_place".
void register_catalogue(Registry& registry);

}  // namespace mote
