// SPDX-License-Identifier: Apache-2.0
#include "compile/through_loops.h"

#include <algorithm>
#include <atomic>

#include "mote/symbolic/dependencies.h"

namespace mote {
namespace {

/// What a body uses its tensors for.
class Body {
 public:
  explicit Body(const ControlInfo& loop)
      : graph_(loop.graphs[0]),
        inputs_(input_indices(graph_)),
        written_(writers(graph_)),
        reads_(graph_.symbol_count()),
        given_(graph_.symbol_count()) {
    for (const NodeInfo& node : graph_.nodes())
      if (!node.removed)
        for (const std::uint32_t input : node.inputs)
          if (input != kNoIndex) ++reads_[root_of(input)];
    for (const std::uint32_t output : graph_.output_indices()) ++given_[root_of(output)];
  }

  /// True if the body computes value k anew, and carries over nothing else of it or of the value
  /// before.
  bool computes(std::uint32_t k) const {
    const std::uint32_t symbol = output(k);
    return is_carried_alone(k) && graph_.symbols()[symbol].kind == SymbolOrigin::tensor &&
           !written_[symbol].empty() && producer(symbol) == nullptr;
  }

  /// Returns the inner loop that value k goes through.
  std::optional<CarriedOn> inner(std::uint32_t k) const {
    const std::uint32_t symbol = output(k);
    const NodeInfo* node = producer(symbol);
    if (!is_carried_alone(k) || node == nullptr || !node->control->is_loop) return std::nullopt;
    const auto at = static_cast<std::uint32_t>(std::ranges::find(node->outputs, symbol) -
                                               node->outputs.begin());
    if (node->inputs[at] != inputs_[k] || reads_[inputs_[k]] != 1) return std::nullopt;
    return CarriedOn{graph_.symbols()[symbol].producer, at};
  }

  const ControlInfo& loop(const CarriedOn& on) const { return *graph_.nodes()[on.node].control; }

 private:
  std::uint32_t root_of(std::uint32_t symbol) const { return graph_.symbols()[symbol].root; }
  std::uint32_t output(std::uint32_t k) const { return graph_.output_indices()[k]; }
  /// The loop or case..of that gives the symbol; null if it is none.
  const NodeInfo* producer(std::uint32_t symbol) const {
    const std::uint32_t node = graph_.symbols()[symbol].producer;
    const bool is_control = node != kNoIndex && graph_.nodes()[node].kind == NodeKind::control;
    return is_control ? &graph_.nodes()[node] : nullptr;
  }
  /// True if the value is a whole tensor that is given once, and the value before is not given.
  bool is_carried_alone(std::uint32_t k) const {
    return root_of(output(k)) == output(k) && given_[output(k)] == 1 && given_[inputs_[k]] == 0;
  }

  const SymbolicGraph& graph_;
  std::vector<std::uint32_t> inputs_;
  IndexLists written_;
  std::vector<std::uint32_t> reads_, given_;  ///< by root: how often
};

/// True if value k of the loop goes on, at last through a loop that computes it.
bool goes_on(const ControlInfo& loop, std::uint32_t k) {
  const Body body(loop);
  if (body.computes(k)) return true;
  const std::optional<CarriedOn> on = body.inner(k);
  return on && goes_on(body.loop(*on), on->output);
}

}  // namespace

std::vector<std::optional<CarriedOn>> carried_through(const ControlInfo& loop) {
  const Body body(loop);
  std::vector<std::optional<CarriedOn>> values(result_count(loop));
  for (std::uint32_t k = 0; k < values.size(); ++k) {
    values[k] = body.inner(k);
    if (values[k] && !goes_on(body.loop(*values[k]), values[k]->output)) values[k].reset();
  }
  return values;
}

std::uint64_t new_clock() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace mote
