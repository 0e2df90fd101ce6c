// SPDX-License-Identifier: Apache-2.0
// The functions by which a loop reads and writes one step of a sequence [T, …], whose number t, an
// i64[], is known when it runs (mote/symbolic/sequence.h has those for programs). A step is all
// that copies: what changes a step of a sequence is in place where the sequence is carried over.
#pragma once

#include <optional>
#include <string_view>

#include "mote/symbolic/sequence.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// Zeros [N, H], and [T, N, H], for x [T, N, C] and b [H] or [g, H].
TensorSymbol zero_state(SymbolicGraph& graph, TensorSymbol x, TensorSymbol b);
TensorSymbol zero_steps(SymbolicGraph& graph, TensorSymbol x, TensorSymbol b);

/// If a function has put one step into y, which is 0 elsewhere, returns y + sum with that step
/// alone computed; an empty symbol if it is not. Sums of such sequences are summed one after the
/// other.
TensorSymbol add_steps_of(SymbolicGraph& graph, TensorSymbol sum, TensorSymbol y);

/// A step of a sequence and its number.
struct StepOf {
  TensorSymbol value, t;
};
/// Returns the step, if a function has put that alone into y, which is 0 elsewhere.
std::optional<StepOf> step_alone(const SymbolicGraph& graph, TensorSymbol y);

/// True for the function of put_step().
bool puts_step(const NamedFunction& function);
/// True for the functions of count_steps() and take_step().
bool takes_step(const NamedFunction& function);
/// Returns the function of that name, "step take"; none if it is no such name.
std::optional<NamedFunction> step_function(std::string_view name);

}  // namespace mote
