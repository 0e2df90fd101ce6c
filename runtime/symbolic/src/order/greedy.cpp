// SPDX-License-Identifier: Apache-2.0
// Evaluation of the ready node that frees the most bytes, less those that it begins to use.
// Predecessors -> order.
#include <queue>
#include <tuple>

#include "order/root_uses.h"

namespace mote {
namespace {

class Greedy {
 public:
  Greedy(const SymbolicGraph& graph, const RootUses& uses, const IndexLists& before,
         std::span<const std::uint32_t> ties)
      : uses_(uses),
        open_(graph.node_count()),
        location_(graph.node_count()),
        gain_(graph.node_count()),
        left_(uses.users.size()),
        last_(uses.users.size()) {
    for (std::uint32_t k = 0; k < ties.size(); ++k) location_[ties[k]] = k;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> reversed;
    for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
      open_[node] = before[node].size();
      for (const std::uint32_t writer : before[node]) reversed.emplace_back(writer, node);
      for (const std::uint32_t root : uses.roots[node]) {
        gain_[node] -= bytes(root);
        last_[root] ^= node;
        ++left_[root];
      }
    }
    after_ = IndexLists(graph.node_count(), reversed);
    for (std::uint32_t root = 0; root < left_.size(); ++root)
      if (left_[root] == 1 && !uses.is_kept[root]) gain_[last_[root]] += bytes(root);
  }

  std::vector<std::uint32_t> order(std::span<const std::uint32_t> nodes) {
    for (const std::uint32_t node : nodes)
      if (open_[node] == 0) push(node);
    std::vector<std::uint32_t> order;
    order.reserve(nodes.size());
    while (!ready_.empty()) {
      const auto [gain, location, node] = ready_.top();
      ready_.pop();
      if (open_[node] == kDone || gain != gain_[node]) continue;  // a later entry replaces it
      open_[node] = kDone;
      order.push_back(node);
      use_roots(node);
      for (const std::uint32_t next : after_[node])
        if (--open_[next] == 0) push(next);
    }
    return order;
  }

 private:
  static constexpr std::size_t kDone = static_cast<std::size_t>(-1);

  std::int64_t bytes(std::uint32_t root) const {
    return static_cast<std::int64_t>(uses_.bytes[root]);
  }
  void push(std::uint32_t node) {
    ready_.emplace(gain_[node], -static_cast<std::int64_t>(location_[node]), node);
  }
  void add_gain(std::uint32_t node, std::int64_t gain) {
    if (open_[node] == kDone) return;
    gain_[node] += gain;
    if (open_[node] == 0) push(node);
  }

  /// Brings the gains of other nodes up to date: a root that is in use costs them nothing more, and
  /// its last user frees it.
  void use_roots(std::uint32_t node) {
    for (const std::uint32_t root : uses_.roots[node]) {
      if (left_[root] == uses_.users[root].size())
        for (const std::uint32_t user : uses_.users[root]) add_gain(user, bytes(root));
      last_[root] ^= node;
      if (--left_[root] == 1 && !uses_.is_kept[root]) add_gain(last_[root], bytes(root));
    }
  }

  const RootUses& uses_;
  IndexLists after_;
  std::vector<std::size_t> open_;        ///< by node: its predecessors that are not done
  std::vector<std::uint32_t> location_;  ///< by node: its place in the order that decides ties
  std::vector<std::int64_t> gain_;       ///< by node: bytes freed less bytes taken
  std::vector<std::size_t> left_;        ///< by root: its users that are not done
  std::vector<std::uint32_t> last_;  ///< by root: these users' exclusive or, the last one itself
  std::priority_queue<std::tuple<std::int64_t, std::int64_t, std::uint32_t>> ready_;
};

}  // namespace

std::vector<std::uint32_t> greedy_order(const SymbolicGraph& graph, const RootUses& uses,
                                        const IndexLists& before,
                                        std::span<const std::uint32_t> ties) {
  return Greedy(graph, uses, before, ties).order(ties);
}

}  // namespace mote
