// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/min_cut.h"

#include <algorithm>

namespace mote {
namespace {
constexpr std::uint32_t kUnreached = 0xFFFFFFFF;
}  // namespace

void FlowNetwork::add_edge(std::uint32_t from, std::uint32_t to, std::uint64_t capacity) {
  edges_of_[from].push_back(static_cast<std::uint32_t>(edges_.size()));
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(static_cast<std::uint32_t>(edges_.size()));
  edges_.push_back({from, 0});
}

bool FlowNetwork::find_levels(std::uint32_t source, std::uint32_t sink) {
  level_.assign(edges_of_.size(), kUnreached);
  std::vector<std::uint32_t> open = {source};
  level_[source] = 0;
  for (std::size_t k = 0; k < open.size(); ++k)
    for (const std::uint32_t e : edges_of_[open[k]])
      if (edges_[e].left > 0 && level_[edges_[e].to] == kUnreached) {
        level_[edges_[e].to] = level_[open[k]] + 1;
        open.push_back(edges_[e].to);
      }
  return level_[sink] != kUnreached;
}

/// Pushes flow along one path of rising levels; returns how much, 0 if there is none. The path is
/// kept in a list, since it may be as long as the network.
std::uint64_t FlowNetwork::push(std::uint32_t source, std::uint32_t sink) {
  std::vector<std::uint32_t> path;
  std::uint32_t at = source;
  while (at != sink) {
    bool advanced = false;
    for (std::size_t& k = next_[at]; k < edges_of_[at].size(); ++k) {
      const std::uint32_t e = edges_of_[at][k];
      if (edges_[e].left == 0 || level_[edges_[e].to] != level_[at] + 1) continue;
      path.push_back(e);
      at = edges_[e].to;
      advanced = true;
      break;
    }
    if (advanced) continue;
    if (path.empty()) return 0;
    level_[at] = kUnreached;
    at = edges_[path.back() ^ 1U].to;
    path.pop_back();
  }
  std::uint64_t amount = kUnlimited;
  for (const std::uint32_t e : path) amount = std::min(amount, edges_[e].left);
  for (const std::uint32_t e : path) {
    edges_[e].left -= amount;
    edges_[e ^ 1U].left += amount;
  }
  return amount;
}

std::vector<bool> FlowNetwork::source_side(std::uint32_t source, std::uint32_t sink) {
  while (flow_ < kUnlimited && find_levels(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    while (const std::uint64_t amount = push(source, sink)) {
      flow_ += amount;
      if (flow_ >= kUnlimited) break;
    }
  }
  std::vector<bool> reached(edges_of_.size());
  for (std::size_t v = 0; v < reached.size(); ++v) reached[v] = level_[v] != kUnreached;
  return reached;
}

}  // namespace mote
