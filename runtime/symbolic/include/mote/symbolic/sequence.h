// SPDX-License-Identifier: Apache-2.0
// Recurrent networks over sequences, as loops: the body is one step of a cell of the catalogue
// (rnn_cell, lstm_cell, gru_cell), whatever the number of steps is.
//
//   const Sequence s = lstm(g, x, {{w, r, b}});     // x [T, N, C] -> s.y [T, N, H]
//
// T steps, N rows, C features, H the width of the state. With the cell's h', and c' of an LSTM:
//
//   y[t] = h[t+1] = h'(x[t], h[t], w, r, b)              t = 0 … T-1, h[0] is given, or 0
//   y[t] = h[t]   = h'(x[t], h[t+1], w, r, b)            backwards: t = T-1 … 0, h[T] likewise
//
// - Lengths: row n has only its first L[n] steps. Behind them y is 0 and the state stays, so that
//   the last state forwards is that of step L[n]-1, and backwards a row begins at step L[n]-1.
//   L[n] below 1 is a row without steps, one above T is a row of T steps.
// - Both directions: y is [T, N, 2H], the way forwards first.
// - Layers: the y of one layer is the x of the next.
// - The results are those of the cells node by node, bit for bit. So are the gradients, except that
//   a zero may have the other sign.
#pragma once

#include <cstdint>
#include <vector>

#include "mote/base/export.h"
#include "mote/symbolic/symbolic_graph.h"

namespace MOTE_API mote {

/// The weights of a layer in one direction, of x's dtype, as the cell takes them: w [g, H, C],
/// r [g, H, H], b [g, H] with g = 4 for an LSTM; for a GRU g = 3, and 4 in b; for an RNN without
/// the axis g.
struct CellWeights {
  TensorSymbol w = {};
  TensorSymbol r = {};
  TensorSymbol b = {};
};

enum class Direction : std::uint8_t { forwards, backwards, both };

struct SequenceOptions {
  Direction direction = Direction::forwards;
  TensorSymbol lengths = {};  ///< i64[N]; left out: all rows have T steps
  /// The states at the beginning, each [N, H], for each layer, and with both directions forwards
  /// first; none: they are 0.
  std::vector<TensorSymbol> h = {};
  std::vector<TensorSymbol> c = {};      ///< likewise, of an LSTM
  std::int64_t checkpoints = kKeepEach;  ///< of each loop (WhileOptions::checkpoints)
};

struct Sequence {
  TensorSymbol y = {};               ///< of the last layer
  std::vector<TensorSymbol> h = {};  ///< the states at the end, in the order of the weights
  std::vector<TensorSymbol> c = {};  ///< of an LSTM
};

enum class Cell : std::uint8_t { rnn, lstm, gru };

/// Adds the network to the graph. `weights` has those of each layer, with both directions forwards
/// first. Throws StatusError, with what was given and what is expected, if x is no [T, N, C], if
/// there are no weights, or not two for each layer of both directions, if their shapes are not
/// those of the cell, and for states and lengths that do not fit.
Sequence sequence(SymbolicGraph& graph, Cell cell, TensorSymbol x,
                  const std::vector<CellWeights>& weights, const SequenceOptions& options = {});

Sequence rnn(SymbolicGraph& graph, TensorSymbol x, const std::vector<CellWeights>& weights,
             const SequenceOptions& options = {});
Sequence lstm(SymbolicGraph& graph, TensorSymbol x, const std::vector<CellWeights>& weights,
              const SequenceOptions& options = {});
Sequence gru(SymbolicGraph& graph, TensorSymbol x, const std::vector<CellWeights>& weights,
             const SequenceOptions& options = {});

// Loops of one's own over a sequence x [T, …] of any dtype: t, an i64[], is the number of a step,
// known when the loop runs. They throw StatusError for a sequence without axes, and for a step and
// a number of another form.

/// y = x[t]. The gradient of a loop adds to one step of that of x, and to no other.
TensorSymbol take_step(SymbolicGraph& graph, TensorSymbol x, TensorSymbol t);
/// z = y, but z[t] = v; in place where a loop carries y over.
TensorSymbol put_step(SymbolicGraph& graph, TensorSymbol y, TensorSymbol v, TensorSymbol t);
/// z = y, but z[t] = y[t] + v; in place where a loop carries y over.
TensorSymbol add_step(SymbolicGraph& graph, TensorSymbol y, TensorSymbol v, TensorSymbol t);
/// n = T, an i64[], also when the graph runs with another T.
TensorSymbol count_steps(SymbolicGraph& graph, TensorSymbol x);

}  // namespace mote
