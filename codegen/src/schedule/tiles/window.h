// SPDX-License-Identifier: Apache-2.0
// Finds operands that rows read along a window: element a·row + b·tap of an axis, as a convolution
// whose channels are its vectors reads its input. Rows and taps that meet read the same element.
#pragma once

#include <optional>

#include "schedule/tiles/panels.h"

namespace mote {

struct Window {
  Symbol rows, tap;  ///< the axis of the rows, and the loop of the reduction along the window
  Expr step_of_rows, step_of_taps;

  /// Returns the position along the window of a row and a tap.
  Expr position(const Expr& row, const Expr& of_tap) const {
    return step_of_rows * row + step_of_taps * of_tap;
  }
  /// Returns the expression for the element at the position, whatever row and tap read it.
  Expr at(const Expr& e, const Expr& position) const;
  Value at(const Value& v, const Expr& position) const;
  Conditions at(Conditions conditions, const Expr& position) const;
};

/// Returns the window along which rows read the operand, if all of its indices and conditions that
/// depend on the row do so by the position alone, and the tap is in no others.
std::optional<Window> window_of(const TiledReduction& r, const SharedOperand& o, Symbol rows,
                                const Facts& facts);

}  // namespace mote
