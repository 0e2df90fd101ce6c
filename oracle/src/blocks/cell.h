// SPDX-License-Identifier: Apache-2.0
// The values of the block evaluator: cells of eight bytes, in arrays and in blocks of them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "mote/uops/uop.h"

namespace mote::blocks {

/// A real, or an integer or boolean.
union Cell {
  double real;
  std::int64_t whole;
};

/// The number of elements of a node that are computed at a time: few enough for the values of a
/// chain of nodes to stay in a cache, many enough to make the cost of dispatch negligible.
constexpr std::int64_t kBlock = 512;

using Extents = std::vector<std::int64_t>;
/// The values of free sizes and integer parameters.
using Sizes = std::map<Symbol, std::int64_t>;

/// Cells one after another, or one cell that stands for all.
struct Operand {
  const Cell* at = nullptr;
  bool single = false;
};

inline Number number_of(Cell c, DType dtype) {
  return is_real(dtype) ? Number(c.real) : Number(c.whole);
}
inline Cell cell_of(const Number& n) {
  Cell c{};
  if (n.is_real()) {
    c.real = n.real();
  } else {
    c.whole = n.integer();
  }
  return c;
}

}  // namespace mote::blocks
