// SPDX-License-Identifier: Apache-2.0
// A graph with two branches, a chain that may work in place, a tensor that is written by parts, and
// a zero-filled one.
#pragma once

#include <vector>

#include "graphs/compile/numbered.h"
#include "mote/symbolic/binding.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote::test {

struct Sample {
  SymbolicGraph g{"sample"};
  TensorSymbol x = g.input("x", {DType::f32, {6, 8}});
  TensorSymbol w = g.input("w", {DType::f32, {8, 4}});
  TensorSymbol left = g.add("matmul", {g.add("relu", {x}), w});
  TensorSymbol right = g.add("tanh", {g.add("exp", {g.add("neg", {left})})});
  TensorSymbol parts = g.tensor({DType::f32, {12, 4}}, "parts");
  TensorSymbol sparse = g.zeros({DType::f32, {12, 4}}, "sparse");
  TensorSymbol sum;

  Sample() {
    const TensorSymbol top = g.slice(parts, 0, 0, 6);
    const TensorSymbol bottom = g.slice(parts, 0, 6, 6);
    const TensorSymbol some = g.slice(sparse, 0, 0, 6, 2);
    g.write(Command("neg"), std::vector{left}, std::vector{top});
    g.write(Command("abs"), std::vector{right}, std::vector{bottom});
    g.write(Command("sin"), std::vector{right}, std::vector{some});
    sum = g.add("add", {parts, sparse});
    g.set_outputs({sum, right});
  }
  std::vector<TensorBinding> bindings() const {
    return {{x, numbered(g, x)}, {w, numbered(g, w, 3)}};
  }
};

}  // namespace mote::test
