// SPDX-License-Identifier: Apache-2.0
// Visits blocks by maximum cardinality search (Tarjan and Yannakakis 1984). The clique of a block
// is the block and its neighbours within the clique of an earlier neighbour; in a chordal graph the
// latest one gives all earlier neighbours.
#include "cliques.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "mote/base/error.h"

namespace mote::memory {
namespace {

/// The number of earlier neighbours whose cliques are tried.
constexpr std::size_t kTried = 8;

/// Returns the blocks in such an order that each is one with the most neighbours before it.
std::vector<std::uint32_t> by_maximum_cardinality(const Lists& neighbours) {
  const std::size_t count = neighbours.size();
  std::vector<std::uint32_t> order, visited_near(count, 0);
  std::vector<bool> visited(count, false);
  // Most visited neighbours first, then the least number.
  std::set<std::pair<std::uint32_t, std::uint32_t>> open;
  const auto key = [&](std::uint32_t k) {
    return std::pair(static_cast<std::uint32_t>(count) - visited_near[k], k);
  };
  for (std::uint32_t k = 0; k < count; ++k) open.insert(open.end(), key(k));
  while (!open.empty()) {
    const std::uint32_t block = open.begin()->second;
    open.erase(open.begin());
    visited[block] = true;
    order.push_back(block);
    for (const std::uint32_t near : neighbours[block]) {
      if (visited[near]) continue;
      auto node = open.extract(key(near));
      ++visited_near[near];
      node.value() = key(near);
      open.insert(std::move(node));
    }
  }
  return order;
}

class Cliques {
 public:
  explicit Cliques(Part& part)
      : part_(part), of_(part.size()), position_(part.size(), 0), near_(part.size(), false) {}

  void find() {
    const std::vector<std::uint32_t> order = by_maximum_cardinality(part_.neighbours);
    std::vector<bool> contained(part_.size(), false);
    for (std::uint32_t at = 0; at < order.size(); ++at) {
      const std::uint32_t block = order[at];
      position_[block] = at + 1;
      const std::uint32_t parent = add(block);
      if (parent != block && of_[block].size() == of_[parent].size() + 1) contained[parent] = true;
    }
    for (std::size_t k = 0; k < of_.size(); ++k)
      if (!contained[k]) keep(of_[k]);
    part_.points = part_.cliques.size();
  }

 private:
  /// Finds the clique of a block, and returns the block from whose clique it comes.
  std::uint32_t add(std::uint32_t block) {
    std::vector<std::uint32_t> earlier;
    for (const std::uint32_t near : part_.neighbours[block]) {
      near_[near] = true;
      if (position_[near] > 0) earlier.push_back(near);
    }
    const auto tried =
        earlier.begin() + static_cast<std::ptrdiff_t>(std::min(earlier.size(), kTried));
    std::partial_sort(earlier.begin(), tried, earlier.end(), [&](std::uint32_t a, std::uint32_t b) {
      return position_[a] > position_[b];
    });
    std::uint32_t parent = block;
    std::uint64_t most = 0;
    for (auto candidate = earlier.begin(); candidate != tried; ++candidate) {
      std::uint64_t bytes = 0;
      for (const std::uint32_t member : of_[*candidate])
        if (near_[member]) bytes += part_.bytes[member];
      if (bytes <= most) continue;
      most = bytes;
      parent = *candidate;
    }
    if (most > kMaxBytes - part_.bytes[block])
      throw Error("plan_memory: more than 2^63 - 1 bytes are alive with block " +
                  std::to_string(part_.blocks[block]));
    part_.bound = std::max(part_.bound, most + part_.bytes[block]);
    if (parent != block)
      for (const std::uint32_t member : of_[parent])
        if (near_[member]) of_[block].push_back(member);
    of_[block].push_back(block);
    for (const std::uint32_t near : part_.neighbours[block]) near_[near] = false;
    return parent;
  }

  void keep(const std::vector<std::uint32_t>& clique) {
    part_.cliques.values.insert(part_.cliques.values.end(), clique.begin(), clique.end());
    part_.cliques.close();
  }

  Part& part_;
  std::vector<std::vector<std::uint32_t>> of_;
  std::vector<std::uint32_t> position_;  // in the order of visits, from 1; 0 is not yet
  std::vector<bool> near_;               // neighbours of the present block
};

}  // namespace

void find_cliques(Part& part) { Cliques(part).find(); }

}  // namespace mote::memory
