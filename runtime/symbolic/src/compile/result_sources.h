// SPDX-License-Identifier: Apache-2.0
// Finds where the outputs of a body or a branch come from, and gives a tensor of their own, which
// is a copy, to those that lie where no location of the graph around can stand for them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compile/through_loops.h"
#include "mote/symbolic/symbolic_graph.h"
#include "mote/symbolic/view.h"

namespace mote {

/// The origin of an output of a sub-graph.
struct ResultSource {
  enum class Kind : std::uint8_t { input, constant, root, inner };
  Kind kind = Kind::root;
  std::uint32_t index = 0;  ///< the number of the input, the symbol, or the number of the output
  std::optional<ViewRegion> part = {};  ///< the part of it; none: all
};

/// Returns the part of a part.
std::optional<ViewRegion> part_of(const std::optional<ViewRegion>& outer,
                                  const std::optional<ViewRegion>& inner);

class ResultSources {
 public:
  ResultSources(SymbolicGraph& graph, bool has_counter);

  /// `through`: those that go on through a loop or a branch inside stay where that one has them.
  std::vector<ResultSource> find(std::size_t count,
                                 const std::vector<std::optional<CarriedOn>>& through = {});
  std::uint64_t copied_bytes() const { return copied_; }

 private:
  ResultSource source_of(std::uint32_t symbol);
  ResultSource copied(std::uint32_t symbol);

  SymbolicGraph& graph_;
  std::vector<std::uint32_t> inputs_;
  bool has_counter_;
  std::uint64_t copied_ = 0;
};

}  // namespace mote
