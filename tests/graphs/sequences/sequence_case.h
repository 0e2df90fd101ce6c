// SPDX-License-Identifier: Apache-2.0
// Recurrent networks as loops and the same ones step by step: what tests and planted bugs compare.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mote/symbolic/binding.h"
#include "mote/symbolic/sequence.h"

namespace mote::test {

/// A network's sizes, and what is special about it.
struct SequenceCase {
  Cell cell = Cell::lstm;
  std::int64_t steps = 5;
  Direction direction = Direction::forwards;
  int layers = 1;
  std::vector<std::int64_t> lengths = {};  ///< by row; none: no lengths
  std::int64_t rows = 3, features = 4, width = 2;
  std::int64_t checkpoints = kKeepEach;
};
std::string to_string(const SequenceCase& c);
/// Returns a case that the seed determines.
SequenceCase random_sequence(std::uint64_t seed);

/// A graph with the inputs of a network, and their values.
struct SequenceNetwork {
  explicit SequenceNetwork(const SequenceCase& c);
  TensorSymbol input(const std::string& name, const AxisList& shape);

  SymbolicGraph g{"network"};
  std::vector<TensorBinding> bindings;
  TensorSymbol x;
  std::vector<CellWeights> weights;
  SequenceOptions options;
  std::vector<TensorSymbol> wrt;  ///< inputs whose gradients are looked at
};

const char* op_of(Cell cell);
/// Adds the network step by step, without a loop.
Sequence unrolled(SequenceNetwork& n, const SequenceCase& c);
std::vector<double> elements(const Tensor& x);

using SequenceValues = std::map<std::string, std::vector<double>>;
/// Adds the gradients, and sets the outputs. Returns a name for each.
std::vector<std::string> finish(SequenceNetwork& n, const Sequence& s);
SequenceValues evaluated(SequenceNetwork& n, const std::vector<std::string>& names);

/// Compares the network as a loop, evaluated and compiled, with that step by step: values, and
/// gradients of all. Returns the first difference; none if there is none.
std::optional<std::string> sequence_difference(const SequenceCase& c);

}  // namespace mote::test
