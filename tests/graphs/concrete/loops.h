// SPDX-License-Identifier: Apache-2.0
// Loops that tests of the concrete graph use.
#pragma once

#include <cstdint>

#include "graphs/concrete/counting.h"
#include "mote/graph/graph.h"

namespace mote::test {

inline Tensor integer(std::int64_t value) {
  Tensor x(DType::i64, AxisList{});
  x.set({}, value);
  return x;
}

/// A loop that goes on while its counter is below n.
inline WhileLoop below(std::int64_t n) {
  return {.function = [n](LoopCounters counters, std::span<const Tensor>) {
    return counters.back() < n;
  }};
}

/// y becomes y * x in each iteration.
inline Graph product_body(GraphTensor& x, GraphTensor& y) {
  Graph body;
  x = body.placeholder(f32({2}), "x");
  y = body.placeholder(f32({2}), "y");
  body.add(Command("mul"), {y, x}, {y}, {.name = "product"});
  return body;
}

}  // namespace mote::test
