// SPDX-License-Identifier: Apache-2.0
// Keeps the value of a name or an accumulator in a tensor for later stages, and moves tensors to
// ones with more axes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote::cuda {

/// Returns the dtype of the value that is read after the loop: a position for argmax and argmin.
DType dtype_of(const Accumulator& a);

/// Turns reads of `name`, a Let's or an accumulator's, into reads of that element of the tensor.
void read_from_tensor(Body& body, const std::string& name, const std::string& tensor,
                      const std::vector<Expr>& index);

/// Moves reads and stores of `tensor` at an index to `at(index)` of `to`.
void move_tensor(Body& body, const std::string& tensor, const std::string& to,
                 const std::function<std::vector<Expr>(const std::vector<Expr>&)>& at);

}  // namespace mote::cuda
