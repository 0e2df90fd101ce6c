// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/worth.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>
#include <iterator>
#include <vector>

#include "borrow.h"
#include "compile/layout.h"
#include "mote/runtime/catalogue.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "passes/registered.h"

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

SymbolicGraph after_passes(const SymbolicGraph& graph, Context* context) {
  SymbolicGraph passed = detail::Borrower::borrow(graph);
  apply_passes_here(passed, default_passes(), {.context = context});
  return passed;
}

std::uint64_t planned_bytes(const SymbolicGraph& graph, Context* context) {
  CompileOptions options;
  options.plan.effort = MemoryEffort::fast;
  return planned_bytes(lay_out(graph, {}, options, context));
}

namespace {

/// Finds what must be in memory at once, in whatever order the nodes run: what a node reads and
/// writes, and the graph's outputs that what is before it has read.
class LeastBytes {
 public:
  explicit LeastBytes(const SymbolicGraph& graph)
      : graph_(graph),
        promises_(graph.registry().column(kInPlace)),
        is_planned_(graph.symbol_count()),
        done_(graph.node_count()) {
    // The memory of what loops and branches write is theirs to choose.
    for (const bool is_control : {false, true})
      for (const NodeInfo& node : graph.nodes())
        for (const std::uint32_t output : node.outputs)
          if (output != kNoIndex && (node.kind == NodeKind::control) == is_control)
            is_planned_[root_of(output)] = !is_control;
    for (const std::uint32_t output : graph.output_indices()) add(outputs_, output);
    // The largest ones, as many as a number has bits.
    std::ranges::stable_sort(outputs_, std::greater(), [&](std::uint32_t k) { return bytes(k); });
    outputs_.resize(std::min<std::size_t>(outputs_.size(), 64));
  }

  std::uint64_t find() {
    Roots given;
    for (const std::uint32_t output : graph_.output_indices()) add(given, output);
    std::uint64_t least = bytes_of(given);
    find_done();
    for (std::uint32_t k = 0; k < graph_.node_count(); ++k)
      if (!graph_.nodes()[k].removed) least = std::max(least, bytes_at(k));
    return least;
  }

 private:
  using Roots = std::vector<std::uint32_t>;

  std::uint32_t root_of(std::uint32_t symbol) const { return graph_.symbols()[symbol].root; }
  std::uint64_t bytes(std::uint32_t root) const {
    return static_cast<std::uint64_t>(graph_.symbols()[root].form->bytes());
  }
  void add(Roots& roots, std::uint32_t symbol) const {
    if (symbol == kNoIndex || !is_planned_[root_of(symbol)]) return;
    if (std::ranges::find(roots, root_of(symbol)) == roots.end()) roots.push_back(root_of(symbol));
  }
  std::uint64_t bytes_of(const Roots& roots) const {
    std::uint64_t sum = 0;
    for (const std::uint32_t root : roots) sum += bytes(root);
    return sum;
  }

  /// Finds for each node the outputs that it, or what it depends on, reads: copies of those nodes
  /// read them too, since outputs are not computed again.
  void find_done() {
    const IndexLists before = data_predecessors(graph_);
    for (const std::uint32_t node : topological_order(graph_)) {
      for (const std::uint32_t other : before[node]) done_[node] |= done_[other];
      for (const std::uint32_t input : graph_.nodes()[node].inputs) {
        if (input == kNoIndex) continue;
        const auto at = std::ranges::find(outputs_, root_of(input)) - outputs_.begin();
        if (at < std::ssize(outputs_)) done_[node] |= std::uint64_t{1} << at;
      }
    }
  }

  std::uint64_t bytes_at(std::uint32_t k) const {
    const NodeInfo& node = graph_.nodes()[k];
    Roots needed;
    for (const std::uint32_t input : node.inputs) add(needed, input);
    for (std::uint64_t rest = done_[k]; rest != 0; rest &= rest - 1)
      add(needed, outputs_[static_cast<std::size_t>(std::countr_zero(rest))]);
    const std::uint64_t read = bytes_of(needed);
    for (std::uint32_t o = 0; o < node.outputs.size(); ++o)
      if (!may_be_in_place(node, o)) add(needed, node.outputs[o]);
    Roots written;
    for (const std::uint32_t output : node.outputs) add(written, output);
    return std::max({read, bytes_of(needed), bytes_of(written)});
  }

  bool may_be_in_place(const NodeInfo& node, std::uint32_t output) const {
    if (node.kind != NodeKind::command) return false;
    const InPlacePairs* pairs = promises_.find(node.command->op());
    return pairs != nullptr && std::ranges::any_of(*pairs, [&](const auto& pair) {
             return static_cast<std::uint32_t>(pair.second) == output;
           });
  }

  const SymbolicGraph& graph_;
  Column<InPlacePairs> promises_;
  std::vector<bool> is_planned_;     ///< by root
  Roots outputs_;                    ///< of the graph
  std::vector<std::uint64_t> done_;  ///< by node: bits of outputs_
};

}  // namespace

std::uint64_t least_bytes(const SymbolicGraph& graph) { return LeastBytes(graph).find(); }

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
