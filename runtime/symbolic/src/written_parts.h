// SPDX-License-Identifier: Apache-2.0
// Tensors that nodes write by views: whether each element that is read is written.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "mote/symbolic/region_index.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// Decides whether each element of the region, which has some, is written. The entries of the index
/// are symbols of the graph that nodes write.
bool is_covered(const SymbolicGraph& graph, const RegionIndex& written, const ViewRegion& read);

/// Returns what is wrong with a read of such a symbol, and with such an output. `some`: nodes write
/// some of its elements.
std::string unwritten_read(const std::string& reader, const std::string& symbol, bool some);
std::string unwritten_output(const std::string& symbol, bool some);

class WrittenParts {
 public:
  /// The graph must outlive this, and does not change meanwhile.
  explicit WrittenParts(const SymbolicGraph& graph) : graph_(graph) {}

  /// False if some element of the symbol holds nothing: no node writes it, it is not given and not
  /// zero.
  bool covers(std::uint32_t symbol);

 private:
  void find();

  const SymbolicGraph& graph_;
  bool is_found_ = false;
  /// By root that some nodes write by views: the elements that they leave, if any.
  std::unordered_map<std::uint32_t, std::int64_t> left_;
  std::unordered_map<std::uint32_t, RegionIndex> regions_;  ///< of roots with elements left
};

}  // namespace mote
