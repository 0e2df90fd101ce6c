// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_graphs.h for recurrent networks and for steps of sequences.
#include "mote/symbolic/sequence.h"

#include <cstddef>

#include "c/objects.h"
#include "c/symbols.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

namespace {

struct Writing {
  mote_symbol y, v, t;
};

/// Adds the function that writes v to step t of y, and returns its result by z.
mote_status written_step(const char* caller,
                         TensorSymbol (*add)(SymbolicGraph&, TensorSymbol, TensorSymbol,
                                             TensorSymbol),
                         mote_symbolic* graph, const Writing& of, mote_symbol* z) {
  return guarded(caller, [&] {
    auto& result = given(z, "z");
    result = handle_of(
        add(given(graph, "graph").graph, symbol_of(of.y), symbol_of(of.v), symbol_of(of.t)));
  });
}

}  // namespace

mote_status mote_symbolic_sequence(mote_symbolic* graph, int32_t cell, mote_symbol x,
                                   const mote_cell_weights* weights, size_t weight_count,
                                   const mote_sequence_options* options, mote_symbol* y,
                                   mote_symbol* h, mote_symbol* c) {
  return guarded(__func__, [&] {
    SymbolicGraph& to = given(graph, "graph").graph;
    given(y, "y");
    if (weight_count > 0) given(weights, "weights");
    const auto of = checked_enum<Cell>(cell, MOTE_CELL_GRU, "there is no such cell");
    if (c != nullptr && of != Cell::lstm)
      throw StatusError(MOTE_INVALID, "c: expected NULL, since this cell has no such state");
    std::vector<CellWeights> list;
    for (const mote_cell_weights& of_layer : std::span(weights, weight_count))
      list.push_back({symbol_of(of_layer.w), symbol_of(of_layer.r), symbol_of(of_layer.b)});
    SequenceOptions with;
    if (options != nullptr) {
      const mote_sequence_options known = sized(*options, offsetof(mote_sequence_options, lengths));
      with.direction =
          checked_enum<Direction>(known.direction, MOTE_BOTH_WAYS, "there is no such direction");
      with.lengths = symbol_of(known.lengths);
      with.checkpoints = known.checkpoints;
      if (known.h != nullptr) with.h = symbols_of(known.h, weight_count, "h");
      if (known.c != nullptr) with.c = symbols_of(known.c, weight_count, "c");
    }
    const Sequence made = sequence(to, of, symbol_of(x), list, with);
    *y = handle_of(made.y);
    for (std::size_t k = 0; h != nullptr && k < made.h.size(); ++k) h[k] = handle_of(made.h[k]);
    for (std::size_t k = 0; c != nullptr && k < made.c.size(); ++k) c[k] = handle_of(made.c[k]);
  });
}

mote_status mote_symbolic_take_step(mote_symbolic* graph, mote_symbol x, mote_symbol t,
                                    mote_symbol* y) {
  return guarded(__func__, [&] {
    auto& result = given(y, "y");
    result = handle_of(take_step(given(graph, "graph").graph, symbol_of(x), symbol_of(t)));
  });
}

mote_status mote_symbolic_put_step(mote_symbolic* graph, mote_symbol y, mote_symbol v,
                                   mote_symbol t, mote_symbol* z) {
  return written_step(__func__, put_step, graph, {y, v, t}, z);
}

mote_status mote_symbolic_add_step(mote_symbolic* graph, mote_symbol y, mote_symbol v,
                                   mote_symbol t, mote_symbol* z) {
  return written_step(__func__, add_step, graph, {y, v, t}, z);
}

mote_status mote_symbolic_count_steps(mote_symbolic* graph, mote_symbol x, mote_symbol* n) {
  return guarded(__func__, [&] {
    auto& result = given(n, "n");
    result = handle_of(count_steps(given(graph, "graph").graph, symbol_of(x)));
  });
}
