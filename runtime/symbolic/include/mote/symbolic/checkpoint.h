// SPDX-License-Identifier: Apache-2.0
// Checkpointing: values that the way back reads are computed again instead of kept. A graph that
// holds a way forward and its gradient gets copies of forward nodes, which nodes of the way back
// read; the results stay the same, bit for bit, since a copy is the same command on the same values
// (a random op's counter is a parameter).
//
// The nodes that the losses depend on are the way forward; all others are the way back. Values of
// inputs and constants, of nodes that write views, and of caller's functions are never computed
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/symbolic/symbolic_graph.h"

namespace MOTE_API mote {

class Context;

enum class CheckpointPolicy : std::uint8_t {
  /// Cuts the way forward into segments so that what is kept between them and the largest segment
  /// together take the fewest bytes: about 2*sqrt(n) values for n equal layers. No node runs more
  /// than twice.
  square_root,
  /// Keeps at most `slots` states at once and computes the others again, as often as Griewank's and
  /// Walther's binomial schedule says, which is the least. The way forward must be a chain: some
  /// positions of it are crossed by one value.
  binomial,
  /// Takes that one of these which computes the least again and for which compile() plans at most
  /// `budget` bytes, with the passes that it runs by default.
  budget,
  /// Computes again what element-wise ops compute from values that are kept anyway, so that the
  /// fewest bytes are kept (a least cut). The graph stays as it is if its planned memory would not
  /// become smaller, or if a run would take more than 1.03 times as long (`context`).
  cheap,
};

struct CheckpointOptions {
  CheckpointPolicy policy = CheckpointPolicy::square_root;
  int slots = 0;           ///< for `binomial`, at least 1, the state at the start not counted
  std::size_t budget = 0;  ///< for `budget`
  /// Symbols that are never computed again.
  std::vector<TensorSymbol> keep = {};
  /// The context in which the graph will run; null: bytes are those with the generated kernels. For
  /// `cheap` the graph is run in it with and without the checkpoint, 8 times each in turn, on
  /// made-up inputs; null: time is not measured.
  Context* context = nullptr;
};

struct CheckpointReport {
  std::string text;  ///< "square_root: 10 segments, 90 nodes computed again"
  std::size_t segments = 0;
  std::size_t forward_nodes = 0;
  std::size_t copies = 0;        ///< nodes that were added
  std::size_t most_runs = 0;     ///< how often the node that runs the most runs
  std::size_t copied_bytes = 0;  ///< the bytes that copies read and write
};

/// Rewrites the graph. `losses` are the symbols whose gradient it holds. Throws StatusError if the
/// way forward is no chain (`binomial`), and if no policy fits the budget: with the fewest bytes
/// that one needs, or, at once, with bytes that no checkpoint can be below where these are more
/// than the budget. After an error the graph is as it was.
CheckpointReport checkpoint(SymbolicGraph& graph, std::span<const TensorSymbol> losses,
                            const CheckpointOptions& options);

/// Returns how many times a step forward is computed for a chain of n steps with that many slots,
/// at the least (revolve), the first time included; 2^64 - 1 stands for more than that.
std::uint64_t binomial_steps(std::uint64_t n, std::uint64_t slots);

}  // namespace mote
