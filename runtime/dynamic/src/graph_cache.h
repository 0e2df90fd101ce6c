// SPDX-License-Identifier: Apache-2.0
// The graphs that parts of traces were compiled to, by the structure of these parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "graph_work.h"
#include "mote/symbolic/view.h"

namespace mote::trace {

/// The structure of a part of a trace, as numbers: equal ones are computed by the same graph.
using Structure = std::vector<std::uint64_t>;
/// The first number of a structure that is no part of a trace: a tensor of which a part is
/// replaced.
inline constexpr std::uint64_t kReplacing = ~std::uint64_t{0};
/// The first number of a static function's structure.
inline constexpr std::uint64_t kStatic = kReplacing - 1;

/// Adds the view to the structure.
void describe(const ViewStep& view, Structure& structure);

/// A graph, and the values of a trace of its structure that its inputs are.
struct CachedGraph {
  std::shared_ptr<GraphWork> work;
  /// Numbers of values in the walk that made the structure; 0: only the shape is needed.
  std::vector<std::uint32_t> inputs = {};
  std::size_t again = 0;               ///< nodes that compute values anew that had been dropped
  std::vector<SharedForm> forms = {};  ///< of the inputs, once they were asked for
  /// The objects that the structure names by their addresses, which no others may get.
  std::vector<std::shared_ptr<const void>> named = {};
};

class GraphCache {
 public:
  struct Entry {
    std::size_t hash;
    Structure structure;
    CachedGraph graph;
  };
  using Entries = std::list<Entry>;

  /// The cache keeps the `limit` most recently used graphs, or fewer where their planned memory
  /// would have more than `bytes` bytes together; it always keeps the last one. What it forgets
  /// goes to `gone`.
  GraphCache(std::size_t limit, std::size_t bytes, Entries& gone)
      : limit_(limit), limit_bytes_(bytes), gone_(gone) {}

  /// Returns the graph of the structure; null if there is none.
  CachedGraph* find(const Structure& structure);
  CachedGraph& add(Structure structure, CachedGraph graph);
  /// Forgets graphs until the others keep within the bytes, once one of them was compiled.
  void limit_bytes() noexcept;
  std::size_t bytes() const noexcept;
  void clear() noexcept;
  /// Forgets the graphs that may have code of the caller's.
  void forget_code() noexcept;
  std::size_t size() const { return entries_.size(); }
  std::size_t made() const { return made_; }

 private:
  void forget(Entries::iterator entry) noexcept;
  void forget_oldest() noexcept { forget(std::prev(entries_.end())); }

  std::size_t limit_;
  std::size_t limit_bytes_;
  std::size_t made_ = 0;
  Entries& gone_;
  Entries entries_;  ///< the most recently used first
  std::unordered_multimap<std::size_t, Entries::iterator> by_hash_;
};

}  // namespace mote::trace
