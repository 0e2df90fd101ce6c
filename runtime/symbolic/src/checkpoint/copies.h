// SPDX-License-Identifier: Apache-2.0
// Copies of forward nodes, which are made when a value of theirs is asked for.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checkpoint/way.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// The roots of values that are there, and the symbols that hold them.
class Held {
 public:
  using Values = std::unordered_map<std::uint32_t, std::uint32_t>;

  Held() = default;
  /// `others` are there too, and are not copied: they must outlive this.
  explicit Held(const Values* others) : others_(others) {}

  /// Returns the symbol that holds the root's value; kNoIndex: it is not there.
  std::uint32_t find(std::uint32_t root) const {
    for (const Values* values : {&own_, others_})
      if (values != nullptr)
        if (const auto found = values->find(root); found != values->end()) return found->second;
    return kNoIndex;
  }
  void set(std::uint32_t root, std::uint32_t symbol) { own_.insert_or_assign(root, symbol); }

 private:
  Values own_;
  const Values* others_ = nullptr;
};

class Copies {
 public:
  /// Both must outlive this.
  Copies(SymbolicGraph& graph, const ForwardWay& way) : graph_(graph), way_(way) {}

  /// Makes this count the copies and leave the graph as it is. Those behind `limit` bytes are not
  /// counted, if is_over() ends the work.
  void only_count(std::size_t limit) {
    is_counting_ = true;
    limit_ = limit;
    is_kept_.assign(way_.bytes.size(), false);
  }
  bool is_counting() const { return is_counting_; }
  bool is_over() const { return is_counting_ && bytes_ > limit_; }
  /// Returns the bytes of forward values that copies and the way back read, once it was counted:
  /// all of them are there when the way forward ends.
  std::size_t kept_bytes() const { return kept_bytes_; }

  /// Returns the symbol that holds a root's value: the one in `held`, itself if it is never
  /// computed again, else an output of a copy of its node, which is made with the values that it
  /// needs, and which `held` has from then on.
  std::uint32_t value(std::uint32_t root, Held& held);
  /// Returns the symbol that stands for `symbol`, a view or a root, with the values of `held`.
  std::uint32_t symbol(std::uint32_t symbol, Held& held);

  /// Begins the next segment: copies made from now on begin after the nodes are done (order()).
  void begin_segment(std::vector<std::uint32_t> after);

  /// Makes the copies of each segment come after those nodes that it was begun with. Where that
  /// would be a cycle, as in graphs whose way back does not simply go backwards, no copy waits.
  void order();

  std::size_t count() const { return count_; }
  std::size_t bytes() const { return bytes_; }
  /// Returns how often each node was copied.
  const std::unordered_map<std::uint32_t, std::size_t>& runs() const { return runs_; }

 private:
  /// Stands for a copy that is only counted.
  static constexpr std::uint32_t kCounted = kNoIndex - 1;

  void copy_node(std::uint32_t node, Held& held);
  void keep(std::uint32_t root);
  std::vector<std::uint32_t> needed_nodes(std::uint32_t root, const Held& held);

  SymbolicGraph& graph_;
  const ForwardWay& way_;
  std::vector<NodeSymbol> after_;
  std::uint32_t segment_ = 0;
  /// The copies, and the nodes that each waits for.
  std::vector<std::pair<NodeSymbol, std::vector<NodeSymbol>>> waits_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  bool is_counting_ = false;
  std::size_t limit_ = 0;
  std::vector<bool> is_kept_;  ///< by root, of those whose bytes were counted
  std::size_t kept_bytes_ = 0;
  std::unordered_map<std::uint32_t, std::size_t> runs_;
};

}  // namespace mote
