// SPDX-License-Identifier: Apache-2.0
// A graph with the values of its inputs and what its nodes give when they run one by one, each on
// memory of its own: the truth that every other way to compute it must meet, bit for bit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph_data.h"
#include "mote/symbolic/binding.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote::test {

class GraphSubject {
 public:
  /// Asks for the outputs and a few other symbols, which are drawn from the data's seed.
  GraphSubject(const SymbolicGraph& graph, const GraphData& data);

  /// The graph; its outputs are those of the given one and the symbols that are asked for too.
  const SymbolicGraph& graph() const { return graph_; }
  const GraphData& data() const { return data_; }
  const std::vector<Tensor>& expected() const { return expected_; }
  std::vector<TensorSymbol> outputs() const { return graph_.outputs(); }
  /// Returns the inputs' values for another graph in which symbols have the same indices, or the
  /// same names.
  std::vector<TensorBinding> bindings_by_index(const SymbolicGraph& other) const;
  std::vector<TensorBinding> bindings_by_name(const SymbolicGraph& other) const;

  /// Returns where values differ from what is expected; none if all bits are equal.
  std::optional<std::string> difference(const std::vector<Tensor>& values) const;

 private:
  SymbolicGraph graph_;
  GraphData data_;
  std::vector<InputValue> inputs_;
  std::vector<Tensor> expected_;
};

/// Returns the first element that differs in bits; none if all are equal. A NaN equals each other
/// one: of an op on two NaNs, the processor gives the first, and compilers swap operands, so that a
/// loop over memory that is written in place (which they compile twice) gives the other's sign.
std::optional<std::string> bit_difference(const Tensor& expected, const Tensor& got);
/// True for the token of a loop's tape, whose value depends on what else runs.
bool is_token(const SymbolicGraph& graph, std::uint32_t symbol);
/// Returns the symbols that a caller may ask for: all that are written whole, and views of them.
std::vector<TensorSymbol> readable_symbols(const SymbolicGraph& graph);

}  // namespace mote::test
