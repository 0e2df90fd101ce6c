// SPDX-License-Identifier: Apache-2.0
// Static graphs that consist of a loop.
#pragma once

#include "mote/symbolic/control.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote::test {

/// Applies the function to what the graph is given, `count` times.
inline SymbolicGraph loop_of(const NamedFunction& function, int count) {
  SymbolicGraph body("body");
  const TensorSymbol x = body.input("x", {DType::f64, {2}});
  const TensorSymbol counter = body.input("counter", {DType::i64, {}});
  const TensorSymbol y = body.tensor({DType::f64, {2}});
  body.call(function, std::vector{x}, std::vector{y});
  Tensor limit(DType::i64, {});
  fill(limit, count);
  body.set_outputs({y, body.add("less", {counter, body.constant("limit", limit)})});
  SymbolicGraph graph("loop");
  const TensorSymbol in = graph.input("in", {DType::f64, {2}});
  const NodeSymbol loop = graph.add_while(body, {in}, {.has_counter = true});
  graph.set_outputs({graph.output(loop, 0)});
  return graph;
}

}  // namespace mote::test
