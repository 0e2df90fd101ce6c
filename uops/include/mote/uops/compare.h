// SPDX-License-Identifier: Apache-2.0
// Evaluates the six comparisons of two numbers.
#pragma once

#include "mote/base/export.h"
#include "mote/uops/uop.h"

namespace MOTE_API mote {

/// Returns true for lt, le, gt, ge, eq, ne.
constexpr bool is_comparison(MapOp op) { return op >= MapOp::lt && op <= MapOp::ne; }

/// Returns true for one of the six, or logical_xor, which is != of two truth values.
constexpr bool is_comparison_or_xor(MapOp op) {
  return is_comparison(op) || op == MapOp::logical_xor;
}

/// Returns a op b, for one of the six.
template <typename T>
constexpr bool compare(MapOp op, const T& a, const T& b) {
  switch (op) {
    case MapOp::lt:
      return a < b;
    case MapOp::le:
      return a <= b;
    case MapOp::gt:
      return a > b;
    case MapOp::ge:
      return a >= b;
    case MapOp::eq:
      return a == b;
    default:
      return a != b;
  }
}

}  // namespace mote
