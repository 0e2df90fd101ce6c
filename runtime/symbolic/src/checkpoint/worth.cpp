// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/worth.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include "compile/layout.h"
#include "mote/symbolic/compile.h"

namespace mote {
namespace {

constexpr int kRounds = 7;

/// A compiled graph whose inputs are bound to tensors of ones: indices that hold are wanted more
/// than numbers that mean something, and no kernel's time depends on those.
class TimedGraph {
 public:
  TimedGraph(const SymbolicGraph& graph, Context& context)
      : executable_(compile(graph, {}, context)) {
    for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
      const SymbolInfo& info = graph.symbols()[k];
      if (info.removed || info.kind != SymbolOrigin::input) continue;
      const Tensor tensor(info.form->dtype, info.form->shape);
      fill(tensor, is_real(info.form->dtype) ? 1.0 : 0.0);
      executable_.bind(graph.at(k), tensor);
    }
    executable_.run();
  }
  double seconds() {
    const auto start = std::chrono::steady_clock::now();
    executable_.run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  Executable executable_;
};

bool has_function(const SymbolicGraph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const NodeInfo& node) {
    return !node.removed && node.kind == NodeKind::function;
  });
}

}  // namespace

std::uint64_t planned_bytes(const SymbolicGraph& graph) {
  CompileOptions options;
  options.plan.effort = MemoryEffort::fast;
  return planned_bytes(lay_out(graph, {}, options, nullptr));
}

std::uint64_t least_bytes(const SymbolicGraph& graph) {
  // The memory of what loops and branches write is theirs to choose.
  std::vector<bool> is_planned(graph.symbol_count());
  for (const NodeInfo& node : graph.nodes())
    for (const std::uint32_t output : node.outputs)
      if (output != kNoIndex) is_planned[graph.symbols()[output].root] = true;
  for (const NodeInfo& node : graph.nodes())
    for (const std::uint32_t output : node.outputs)
      if (output != kNoIndex && node.kind == NodeKind::control)
        is_planned[graph.symbols()[output].root] = false;
  std::vector<std::uint32_t> seen;  // roots
  const auto bytes_of = [&](std::span<const std::uint32_t> symbols) {
    seen.clear();
    for (const std::uint32_t symbol : symbols)
      if (symbol != kNoIndex && is_planned[graph.symbols()[symbol].root])
        seen.push_back(graph.symbols()[symbol].root);
    std::ranges::sort(seen);
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    std::uint64_t bytes = 0;
    for (const std::uint32_t root : seen)
      bytes += static_cast<std::uint64_t>(graph.symbols()[root].form->bytes());
    return bytes;
  };
  std::uint64_t least = bytes_of(graph.output_indices());
  for (const NodeInfo& node : graph.nodes())
    least = std::max({least, bytes_of(node.inputs), bytes_of(node.outputs)});
  return least;
}

double time_ratio(const SymbolicGraph& graph, const SymbolicGraph& other, Context& context) {
  if (has_function(graph)) return 1;
  TimedGraph one(graph, context);
  TimedGraph two(other, context);
  // Other work on the machine only makes a run longer: the shortest ones are compared.
  double least_of_one = one.seconds();
  double least_of_two = two.seconds();
  for (int round = 1; round < kRounds; ++round) {
    least_of_one = std::min(least_of_one, one.seconds());
    least_of_two = std::min(least_of_two, two.seconds());
  }
  return least_of_one / least_of_two;
}

}  // namespace mote
