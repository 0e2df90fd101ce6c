// SPDX-License-Identifier: Apache-2.0
// Values and checks for the tests of gradients.
#pragma once

#include <vector>

#include "error_of.h"
#include "mote/symbolic/binding.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

using Numbers = std::vector<double>;
using test::error_of;

/// Returns an f64 tensor of these elements; without a shape it has one axis.
Tensor real(const Numbers& values);
Tensor real(const Numbers& values, const AxisList& shape);
/// Returns an f64 tensor of distinct elements in that range; `turn` tells tensors apart.
Tensor counted(const AxisList& shape, double lowest = -2, double highest = 2, int turn = 0);
/// Returns the elements in row-major order.
Numbers numbers(const Tensor& tensor);

}  // namespace mote
