// SPDX-License-Identifier: Apache-2.0
// Finds operands that are read along a window: element a·i + b·j of an axis for iteration i of a
// loop of the nest and j of a loop of the reduction. The rows of a convolution whose channels are
// its vectors read its input so, and the taps of its gradient with respect to the weights do.
// Iterations whose positions are equal read the same element.
#pragma once

#include <optional>

#include "schedule/tiles/panels.h"

namespace mote {

struct Window {
  Symbol outer, inner;  ///< a loop of the nest, and one of the reduction
  Expr outer_step, inner_step;

  /// Returns the position along the window of an iteration of each loop.
  Expr position(const Expr& of_outer, const Expr& of_inner) const {
    return outer_step * of_outer + inner_step * of_inner;
  }
  /// Returns the number of positions of that many iterations of each loop.
  Expr positions(const Expr& of_outer, const Expr& of_inner) const {
    return position(of_outer - 1, of_inner - 1) + 1;
  }
  /// Returns the expression for the element at the position, whatever iterations read it.
  Expr at(const Expr& e, const Expr& position) const;
  Value at(const Value& v, const Expr& position) const;
  Conditions at(Conditions conditions, const Expr& position) const;
};

/// Returns the window along which the iterations of a loop of the nest read the operand, if all of
/// its indices and conditions that depend on this loop do so by the position alone, and the loop of
/// the reduction is in no others.
std::optional<Window> window_of(const TiledReduction& r, const SharedOperand& o, Symbol outer,
                                const Facts& facts);

}  // namespace mote
