// SPDX-License-Identifier: Apache-2.0
// A part of a trace: some of its steps, the values that they read and compute, numbered, and the
// symbolic graph that computes the same.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "graph_cache.h"
#include "state.h"
#include "value.h"

namespace mote::trace {

struct Part {
  std::vector<Step*> steps;    ///< each after those whose values it reads
  std::vector<Value*> values;  ///< by number, from 1 on; null: an output that is gone
  std::vector<bool> is_leaf;   ///< by number: no step of the part computes it
  Structure structure;         ///< of the steps; what is asked of the part comes behind
};

/// Numbers the values of these steps, which are sorted first, and `others`, which are leaves if no
/// step computes them. Value::number is valid for those that this walk has seen, until the next
/// walk.
Part number_values(State& state, std::vector<Step*> steps, std::span<Value* const> others = {});
/// Sorts the steps by their numbers: each after those whose values it reads.
void sort_by_id(std::vector<Step*>& steps);
/// Returns the value's number in the part that was numbered last; 0 if it is not of it.
std::uint32_t number_of(const State& state, const Value& value);

/// Makes the graph of the part; the symbols are by number, those of leaves are inputs. Of the
/// values `apart`, views are views of copies, and outputs of graphs are copies, so that gradients
/// with respect to them are those of a tensor of its own: nothing else within the step depends on
/// it.
struct PartGraph {
  SymbolicGraph graph;
  std::vector<TensorSymbol> symbols;
  std::size_t nodes = 0;    ///< those of the steps; behind them are those of gradients
  bool has_graphs = false;  ///< some of them are those of graphs, which may have loops
};
PartGraph symbolic(const Part& part, std::span<Value* const> apart = {});

/// Returns the graph of those nodes that the outputs need, where the values with a true entry in
/// `given`, by number, are inputs.
CachedGraph cut(const PartGraph& from, const std::vector<bool>& given,
                const std::vector<TensorSymbol>& outputs);

/// Returns the values of the graph's inputs: those of the part with these numbers, and behind them
/// the seeds. A tensor of which only the shape is needed has elements that nothing has written; a
/// view that repeats elements may be wanted in memory of its own.
std::vector<Ref<Value>> inputs_of(State& state, CachedGraph& graph, const Part& part,
                                  std::span<Value* const> seeds = {});

/// Returns the functions of the part, which a cached graph keeps so that their addresses stay
/// theirs.
std::vector<std::shared_ptr<const void>> functions_of(const Part& part);

}  // namespace mote::trace
