// SPDX-License-Identifier: Apache-2.0
// Derives the index of an element in a tensor from its index in a view, as index expressions.
#pragma once

#include <vector>

#include "mote/symbolic/view.h"
#include "mote/uops/uop.h"

namespace mote {

using ElementIndex = std::vector<Expr>;

/// Returns i0, i1, … for that many axes.
ElementIndex loop_index(int rank);
/// Returns the index in x of the element at `index` of y, which is x reshaped.
ElementIndex reshaped_index(const AxisList& x, const AxisList& y, const ElementIndex& index);
/// Returns the index in x of the element at `index` of a tensor that x is broadcast to.
ElementIndex repeated_index(const AxisList& x, const ElementIndex& index);
/// Returns the index in `base` of the element at `index` of its view of shape `view`.
ElementIndex viewed_index(const ViewStep& step, const AxisList& base, const AxisList& view,
                          const ElementIndex& index);

/// Returns y[i] = x[index(i)], of that shape.
Uop element_at(const Uop& x, const AxisList& shape, const ElementIndex& index);
/// Returns the number in each element.
Uop filled_with(const Number& value, DType dtype, const AxisList& shape);

}  // namespace mote
