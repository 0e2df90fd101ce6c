// SPDX-License-Identifier: Apache-2.0
// Finds where the outputs of a body or a branch come from, and gives those that no node writes a
// tensor of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mote/symbolic/symbolic_graph.h"
#include "mote/symbolic/view.h"

namespace mote {

/// The origin of an output of a sub-graph.
struct ResultSource {
  enum class Kind : std::uint8_t { input, constant, root, elsewhere };
  Kind kind = Kind::root;
  std::uint32_t index = 0;  ///< the number of the input, the symbol, or the number of the output
  std::optional<ViewRegion> part = {};  ///< the part of it; none: all
};

/// Returns the part of a part.
std::optional<ViewRegion> part_of(const std::optional<ViewRegion>& outer,
                                  const std::optional<ViewRegion>& inner);

class ResultSources {
 public:
  explicit ResultSources(SymbolicGraph& graph);

  /// The results of `elsewhere` stay where a loop or a branch inside, or a pointer, has them.
  std::vector<ResultSource> find(const std::vector<bool>& elsewhere);

 private:
  ResultSource source_of(std::uint32_t symbol);

  SymbolicGraph& graph_;
  std::vector<std::uint32_t> inputs_;
};

}  // namespace mote
