// SPDX-License-Identifier: Apache-2.0
// Compares a graph with its program: values, and gradients by uops with those of the graph layer.
#pragma once

#include <vector>

#include "mote/oracle/graph_program.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// The way in which results must agree: as equal numbers, where all of it is exact, or by the error
/// bounds of the programs that compute them.
enum class Agreement { exact, bounded, where_bounded };

/// A graph, values of its inputs, and the symbols that are looked at.
struct InlinedCase {
  SymbolicGraph g = SymbolicGraph("case");
  std::vector<TensorBinding> bindings = {};
  std::vector<TensorSymbol> wrt = {};  ///< inputs
  std::vector<TensorSymbol> of = {};

  /// Adds an input of f64 with integer elements in -3..3; `turn` tells inputs apart.
  TensorSymbol whole(const char* name, const AxisList& shape, int turn);
  /// Adds an input of f64 with distinct integer elements in -50..50, of which there are at most
  /// 101.
  TensorSymbol distinct(const char* name, const AxisList& shape, int turn);
  /// Adds an input of f64 with elements spread over that range.
  TensorSymbol spread(const char* name, const AxisList& shape, double lowest, double highest,
                      int turn);
  /// Adds an input with these elements.
  TensorSymbol integers(const char* name, DType dtype, const AxisList& shape,
                        const std::vector<std::int64_t>& elements);
};

/// Returns the program of the symbols. Throws Error with the reason if there is none.
GraphProgram inlined(const SymbolicGraph& g, const std::vector<TensorSymbol>& outputs);

/// Expects that the program of the case's `of` gives what its nodes give one by one.
void expect_values(const InlinedCase& c, Agreement agreement);

/// Expects that values of `of` that were computed in another way lie in the bound of their program,
/// which must be finite.
void expect_in_bound(const InlinedCase& c, const std::vector<Tensor>& got);

/// Expects that the uop gradient of the program of `of` and the graph's own gradient agree, from
/// seeds of small integers. Bounded: the graph's gradient lies in the bound of its own program, for
/// the kernels that compute it, and the bounds of the two programs, each of which holds the exact
/// gradient, have a common number. Where a bound is infinite (an element that depends on a tie,
/// say), the results must be equal, or with where_bounded, may be anything. An input that `of` does
/// not depend on has a gradient of 0. Then the case is that of the gradients, with respect to the
/// seeds too: another call checks the next order.
void expect_gradients(InlinedCase& c, Agreement agreement);

/// Expects that second derivatives are symmetric: that for each two inputs of `wrt` the gradient
/// with respect to one, differentiated with respect to the other, gives what it gives the other way
/// round, summed up with small integers. The intervals of the two sums, by the bounds of their
/// programs, have a common number where they are finite.
void expect_symmetry(InlinedCase& c);

/// Expects that <jvp(tangents), seeds> = <tangents, vjp(seeds)>: each element lies in the bound of
/// its program, and the intervals of the two sums have a common number. Returns false if an element
/// has no finite bound, so that the sums were not compared. Throws as jvp() does.
bool expect_forward_mode(InlinedCase& c);

}  // namespace mote
