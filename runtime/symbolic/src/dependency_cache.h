// SPDX-License-Identifier: Apache-2.0
// The lists and the order that were computed of a graph's present version: passes and the compiler
// ask for the same ones again and again. Any thread may ask.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "mote/symbolic/dependencies.h"

namespace mote::detail {

class DependencyCache {
 public:
  std::shared_ptr<const IndexLists> predecessors, data_predecessors, readers, writers;
  std::shared_ptr<const std::vector<std::uint32_t>> order;

  /// Returns that member for the graph's version; if it is not known, what make() returns.
  template <typename Value, typename Make>
  static std::shared_ptr<const Value> get(const SymbolicGraph& graph,
                                          std::shared_ptr<const Value> DependencyCache::*member,
                                          const Make& make) {
    DependencyCache* const cache = graph.dependencies_.get();
    if (cache == nullptr) return std::make_shared<const Value>(make());  // of a moved graph
    {
      const std::lock_guard lock(cache->mutex_);
      if (cache->version_ == graph.version() && cache->*member != nullptr) return cache->*member;
    }
    auto made = std::make_shared<const Value>(make());
    const std::lock_guard lock(cache->mutex_);
    if (cache->version_ != graph.version()) cache->forget(graph.version());
    cache->*member = made;
    return made;
  }

 private:
  void forget(std::uint64_t version) {
    for (auto* lists : {&predecessors, &data_predecessors, &readers, &writers}) lists->reset();
    order.reset();
    version_ = version;
  }

  std::mutex mutex_;
  std::uint64_t version_ = 0;
};

}  // namespace mote::detail
