// SPDX-License-Identifier: Apache-2.0
// The handles of mote/mote_graphs.h, and lists of symbols.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "c/guard.h"
#include "mote/graph/graph.h"
#include "mote/graph/picture.h"
#include "mote/mote_graphs.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/symbolic_graph.h"

struct mote_symbolic {
  mote::SymbolicGraph graph;
  std::string text;
};

struct mote_executable {
  mote::GraphTrace trace = {};  ///< outlives the runs
  mote::Executable executable;
  const mote::Graph* traced = nullptr;  ///< the graph of the shapes that were run
  std::string text = {};
};

struct mote_graph {
  using Ends = std::pair<std::vector<mote_graph_node>, std::vector<mote_graph_node>>;
  struct Placeholder {
    mote::Tensor tensor;  ///< whose memory is kept, so that no other tensor gets its address
    mote::GraphTensor in_graph;
  };

  mote::GraphTrace trace;  ///< outlives the runs
  mote::Graph graph;
  mote::GraphOptions options;
  std::vector<mote::GraphNode> nodes;
  std::uint32_t mark = next_mark();  ///< the high bits of its nodes' handles, not 0
  std::vector<Placeholder> placeholders;
  /// What was added for tensors, by their first element. The graph keeps their memory.
  std::unordered_map<const void*, std::vector<std::pair<mote::TensorForm, mote::GraphTensor>>>
      tensors;
  std::map<Ends, mote::GraphPart> parts;
  bool is_prepared = false;
  std::string text;

  static constexpr unsigned kNumberBits = 24;
  static std::uint32_t next_mark() {
    static std::atomic<std::uint32_t> last{0};
    constexpr std::uint32_t kMarks = (1U << (32U - kNumberBits)) - 1;
    return 1 + last++ % kMarks;
  }

  /// Returns the tensor of the graph that stands for this one; none if it is no placeholder.
  std::optional<mote::GraphTensor> placeholder(const mote::Tensor& tensor) const {
    for (const Placeholder& known : placeholders)
      if (known.tensor.data() == tensor.data() && known.tensor.form() == tensor.form())
        return known.in_graph;
    return std::nullopt;
  }
  /// Returns what was added for the tensor, or for one of the same memory and form.
  std::optional<mote::GraphTensor> known(const mote::Tensor& tensor) const {
    const auto there = tensors.find(tensor.data());
    if (there == tensors.end()) return std::nullopt;
    for (const auto& [form, in_graph] : there->second)
      if (form == tensor.form()) return in_graph;
    return std::nullopt;
  }
  /// Prepares the graph unless nothing was changed since it was.
  void prepare() {
    if (!is_prepared) graph.prepare(options);
    is_prepared = true;
  }
};

namespace mote::c {

inline TensorSymbol symbol_of(mote_symbol symbol) { return {symbol.graph, symbol.index}; }
inline mote_symbol handle_of(TensorSymbol symbol) { return {symbol.graph, symbol.index}; }

/// Returns the node that writes exactly this symbol; throws StatusError if none does.
inline NodeSymbol writer_of(const SymbolicGraph& graph, mote_symbol symbol) {
  const NodeSymbol node = graph.producer(symbol_of(symbol));
  if (!node)
    throw StatusError(MOTE_INVALID, "no node writes " + graph.text(symbol_of(symbol)) + " whole");
  return node;
}

/// Throws StatusError if the list is null and has entries.
inline std::vector<TensorSymbol> symbols_of(const mote_symbol* symbols, std::size_t count,
                                            const char* what) {
  if (count > 0) given(symbols, what);
  std::vector<TensorSymbol> list;
  for (const mote_symbol symbol : std::span(symbols, count)) list.push_back(symbol_of(symbol));
  return list;
}

/// Sets the count, and gives as many of the symbols as there is room for.
inline void give_symbols(std::span<const TensorSymbol> all, mote_symbol* symbols, std::size_t room,
                         std::size_t* count) {
  given(count, "count") = all.size();
  if (symbols == nullptr) return;
  for (std::size_t k = 0; k < std::min(room, all.size()); ++k) symbols[k] = handle_of(all[k]);
}

/// Throws StatusError unless there are `rank` entries, at most MOTE_MAX_AXES.
template <typename T>
AxisList axes_of(std::int32_t rank, const T* values, const char* what) {
  if (rank < 0 || rank > MOTE_MAX_AXES)
    throw StatusError(MOTE_INVALID, std::string(what) + ": expected 0 to " +
                                        std::to_string(MOTE_MAX_AXES) + " axes, got " +
                                        std::to_string(rank));
  if (rank > 0) given(values, what);
  AxisList list;
  for (const T value : std::span(values, static_cast<std::size_t>(rank))) list.push_back(value);
  return list;
}

/// Throws StatusError if the graph has no such node.
inline GraphNode node_of(const mote_graph& graph, mote_graph_node node) {
  const std::uint32_t number = node & ((1U << mote_graph::kNumberBits) - 1);
  if (node >> mote_graph::kNumberBits != graph.mark)
    throw StatusError(MOTE_INVALID, "graph: node " + std::to_string(number) +
                                        " is of another graph, or of none (" +
                                        std::to_string(node) + ")");
  if (number >= graph.nodes.size())
    throw StatusError(MOTE_INVALID, "graph: it has " + std::to_string(graph.nodes.size()) +
                                        " nodes, got " + std::to_string(number));
  return graph.nodes[number];
}

/// Returns the value as the C++ enum, whose values are those of the C one from 0 to `last`.
template <typename Enum>
Enum checked_enum(std::int32_t value, std::int32_t last, const char* refusal) {
  if (value < 0 || value > last)
    throw StatusError(MOTE_INVALID, std::string(refusal) + ": " + std::to_string(value));
  return static_cast<Enum>(value);
}

inline std::string optional_text(const char* text) { return text != nullptr ? text : ""; }

/// Returns the texts, each with the end of a line.
inline std::string lines_of(const std::vector<std::string>& texts) {
  std::string lines;
  for (const std::string& text : texts) lines += text + "\n";
  return lines;
}

}  // namespace mote::c
