// SPDX-License-Identifier: Apache-2.0
// The allocation graph has a node for each block that is placed, a source and a sink. An edge says
// that a range of bytes passes from one block to the next one that uses it. Blocks are inserted
// into edges, by tuples of up to three that do not interfere and so can have the same bytes; where
// no edge takes a tuple, a new range passes from the source through it to the sink.
//
// The original excludes all edges at the source and at the sink. Here only an edge from the source
// to the sink is excluded: with the original rule, the edges into the first block and out of the
// last one never serve, which takes more than twice the memory on MiniMalloc's instances.
#include "seed.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

namespace mote::memory {
namespace {

constexpr std::uint32_t kSource = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kSink = kSource - 1;

/// The bytes [begin, end) pass from one node to another.
struct Edge {
  std::uint32_t from, to;
  std::uint64_t begin, end;
};

/// Blocks in the order of their use, which do not interfere with each other.
struct Tuple {
  std::vector<std::uint32_t> blocks;
  std::uint64_t bytes = 0;  // of the largest
  std::uint64_t alignment = 1;
  std::size_t degree = 0;  // the sum of the numbers of neighbours
};

class Allocation {
 public:
  explicit Allocation(const Part& part) : part_(part), waiting_(part.size()) {
    result_.offsets.assign(part.size(), kTooMany);
    result_.total = 0;
    for (std::uint32_t k = 0; k < waiting_.size(); ++k) waiting_[k] = k;
    std::stable_sort(waiting_.begin(), waiting_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return part.bytes[a] > part.bytes[b];
    });
  }

  Packing run() {
    while (!waiting_.empty()) {
      const std::vector<Tuple> tuples = candidates();
      if (!insert_into_an_edge(tuples)) {
        const std::uint64_t begin = rounded_up(result_.total, tuples[0].alignment);
        const std::uint64_t end = saturating_sum(begin, tuples[0].bytes);
        if (end > kMaxBytes) return {};
        insert(tuples[0], {kSource, kSink, begin, end}, begin);
        result_.total = end;
      }
      std::erase_if(waiting_, [&](std::uint32_t k) { return result_.offsets[k] != kTooMany; });
    }
    return std::move(result_);
  }

 private:
  bool interfere(std::uint32_t a, std::uint32_t b) const {
    if (part_.timed) return part_.begins[a] <= part_.ends[b] && part_.begins[b] <= part_.ends[a];
    const std::span<const std::uint32_t> near = part_.neighbours[a];
    return std::binary_search(near.begin(), near.end(), b);
  }

  /// Returns the blocks that wait and have the most neighbours, each alone and with one or two
  /// larger ones that do not interfere, by falling bytes and then by falling degree.
  std::vector<Tuple> candidates() const {
    std::size_t most = 0;
    for (const std::uint32_t k : waiting_) most = std::max(most, part_.neighbours[k].size());
    std::vector<Tuple> tuples;
    for (const std::uint32_t k : waiting_) {
      if (part_.neighbours[k].size() != most) continue;
      std::vector<std::uint32_t> blocks = {k};
      tuples.push_back(tuple_of(blocks));
      for (const std::uint32_t other : waiting_) {  // the largest first
        if (part_.bytes[other] <= part_.bytes[k] || blocks.size() == 3) break;
        if (std::any_of(blocks.begin(), blocks.end(),
                        [&](std::uint32_t b) { return interfere(b, other); }))
          continue;
        blocks.push_back(other);
        tuples.push_back(tuple_of(blocks));
      }
    }
    std::stable_sort(tuples.begin(), tuples.end(), [](const Tuple& a, const Tuple& b) {
      return std::pair(a.bytes, a.degree) > std::pair(b.bytes, b.degree);
    });
    return tuples;
  }
  Tuple tuple_of(const std::vector<std::uint32_t>& blocks) const {
    Tuple tuple = {.blocks = blocks};
    std::sort(tuple.blocks.begin(), tuple.blocks.end());  // blocks are numbered by use
    for (const std::uint32_t k : blocks) {
      tuple.bytes = std::max(tuple.bytes, part_.bytes[k]);
      tuple.alignment = std::max(tuple.alignment, part_.alignments[k]);
      tuple.degree += part_.neighbours[k].size();
    }
    return tuple;
  }

  /// Inserts the first tuple that an edge takes into the smallest of the edges that take it.
  bool insert_into_an_edge(const std::vector<Tuple>& tuples) {
    for (const Tuple& tuple : tuples) {
      std::optional<std::size_t> best;
      for (std::size_t e = 0; e < edges_.size(); ++e)
        if ((!best || edges_[e].end - edges_[e].begin < edges_[*best].end - edges_[*best].begin) &&
            takes(edges_[e], tuple))
          best = e;
      if (!best) continue;
      const Edge edge = edges_[*best];
      edges_.erase(edges_.begin() + static_cast<std::ptrdiff_t>(*best));
      insert(tuple, edge, rounded_up(edge.begin, tuple.alignment));
      return true;
    }
    return false;
  }

  bool takes(const Edge& edge, const Tuple& tuple) const {
    if (edge.from == kSource && edge.to == kSink) return false;
    const std::uint64_t begin = rounded_up(edge.begin, tuple.alignment);
    if (saturating_sum(begin, tuple.bytes) > edge.end) return false;
    for (const std::uint32_t k : tuple.blocks)
      if ((edge.from != kSource && (edge.from > k || interfere(edge.from, k))) ||
          (edge.to != kSink && (edge.to < k || interfere(edge.to, k))))
        return false;
    return part_.timed || clear(tuple, begin);
  }
  /// In time, what comes before the edge's source is dead too. Pairs do not promise that: all
  /// neighbours that have places are compared.
  bool clear(const Tuple& tuple, std::uint64_t begin) const {
    for (const std::uint32_t k : tuple.blocks)
      for (const std::uint32_t near : part_.neighbours[k])
        if (result_.offsets[near] != kTooMany && result_.offsets[near] < begin + part_.bytes[k] &&
            begin < result_.offsets[near] + part_.bytes[near])
          return false;
    return true;
  }

  /// Puts the tuple at an offset of the edge, which is no longer in the graph: each of its bytes
  /// passes through those blocks of the tuple that reach it.
  void insert(const Tuple& tuple, const Edge& edge, std::uint64_t offset) {
    std::vector<std::uint64_t> limits = {edge.begin, offset, edge.end};
    for (const std::uint32_t k : tuple.blocks) {
      result_.offsets[k] = offset;
      limits.push_back(offset + part_.bytes[k]);
    }
    std::sort(limits.begin(), limits.end());
    const std::size_t first = edges_.size();
    for (std::size_t at = 0; at + 1 < limits.size(); ++at) {
      if (limits[at] == limits[at + 1]) continue;
      std::uint32_t from = edge.from;
      for (const std::uint32_t k : tuple.blocks)
        if (limits[at] >= offset && limits[at + 1] <= offset + part_.bytes[k])
          pass(std::exchange(from, k), k, limits[at], limits[at + 1], first);
      pass(from, edge.to, limits[at], limits[at + 1], first);
    }
  }
  /// Adds bytes to the edge between two nodes that ends where they begin, or a new one.
  void pass(std::uint32_t from, std::uint32_t to, std::uint64_t begin, std::uint64_t end,
            std::size_t first) {
    for (std::size_t e = first; e < edges_.size(); ++e)
      if (edges_[e].from == from && edges_[e].to == to && edges_[e].end == begin) {
        edges_[e].end = end;
        return;
      }
    edges_.push_back({from, to, begin, end});
  }

  const Part& part_;
  std::vector<std::uint32_t> waiting_;  // by falling bytes
  std::vector<Edge> edges_;
  Packing result_;
};

}  // namespace

Packing pack_as_seed(Part& part) {
  find_neighbours(part);
  return Allocation(part).run();
}

}  // namespace mote::memory
