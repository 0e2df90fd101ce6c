// SPDX-License-Identifier: Apache-2.0
#include "graph_cache.h"

#include <algorithm>
#include <utility>

namespace mote::trace {
namespace {

std::size_t hash_of(const Structure& structure) {
  std::size_t hash = structure.size();
  for (const std::uint64_t number : structure)
    hash = (hash ^ (hash >> 29U) ^ number) * 0x9E3779B97F4A7C15;
  return hash;
}

}  // namespace

void describe(const ViewStep& view, Structure& structure) {
  structure.push_back(static_cast<std::uint64_t>(view.kind));
  structure.push_back(static_cast<std::uint64_t>(view.numbers.size()));
  for (const std::int64_t number : view.numbers)
    structure.push_back(static_cast<std::uint64_t>(number));
}

CachedGraph* GraphCache::find(const Structure& structure) {
  const auto [begin, end] = by_hash_.equal_range(hash_of(structure));
  for (auto known = begin; known != end; ++known) {
    if (known->second->structure != structure) continue;
    entries_.splice(entries_.begin(), entries_, known->second);
    return &entries_.front().graph;
  }
  return nullptr;
}

CachedGraph& GraphCache::add(Structure structure, CachedGraph graph) {
  const std::size_t hash = hash_of(structure);
  Entries made;
  made.push_front({hash, std::move(structure), std::move(graph)});
  by_hash_.emplace(hash, made.begin());
  entries_.splice(entries_.begin(), made);
  ++made_;
  while (entries_.size() > std::max<std::size_t>(limit_, 1)) forget_oldest();
  return entries_.front().graph;
}

void GraphCache::forget(Entries::iterator entry) noexcept {
  auto [begin, end] = by_hash_.equal_range(entry->hash);
  by_hash_.erase(std::find_if(begin, end, [&](const auto& e) { return e.second == entry; }));
  gone_.splice(gone_.end(), entries_, entry);
}

void GraphCache::forget_code() noexcept {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->graph.work->has_functions || !entry->graph.named.empty()) forget(entry);
    entry = next;
  }
}

std::size_t GraphCache::bytes() const noexcept {
  std::size_t bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.graph.work->planned_bytes;
  return bytes;
}

void GraphCache::limit_bytes() noexcept {
  while (entries_.size() > 1 && bytes() > limit_bytes_) forget_oldest();
}

void GraphCache::clear() noexcept {
  by_hash_.clear();
  gone_.splice(gone_.end(), entries_);
}

}  // namespace mote::trace
