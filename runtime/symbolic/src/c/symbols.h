// SPDX-License-Identifier: Apache-2.0
// The handles of mote/mote_graphs.h, and lists of symbols.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "c/guard.h"
#include "mote/graph/graph.h"
#include "mote/mote_graphs.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/symbolic_graph.h"

struct mote_symbolic {
  mote::SymbolicGraph graph;
  std::string text;
};

struct mote_executable {
  mote::Executable executable;
  std::string text;
};

struct mote_graph {
  mote::Graph graph;
  mote::GraphOptions options;
  std::vector<mote::GraphNode> nodes;
  bool is_prepared = false;
  std::string text;
};

namespace mote::c {

inline TensorSymbol symbol_of(mote_symbol symbol) { return {symbol.graph, symbol.index}; }
inline mote_symbol handle_of(TensorSymbol symbol) { return {symbol.graph, symbol.index}; }

/// Throws StatusError if the list is null and has entries.
inline std::vector<TensorSymbol> symbols_of(const mote_symbol* symbols, std::size_t count,
                                            const char* what) {
  if (count > 0) given(symbols, what);
  std::vector<TensorSymbol> list;
  for (const mote_symbol symbol : std::span(symbols, count)) list.push_back(symbol_of(symbol));
  return list;
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

inline std::string optional_text(const char* text) { return text != nullptr ? text : ""; }

}  // namespace mote::c
