// SPDX-License-Identifier: Apache-2.0
// What a name or an accumulator holds, kept in a tensor for later stages; tensors with more axes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote::cuda {

/// Of what is read after the loop: a position for argmax and argmin.
DType dtype_of(const Accumulator& a);

/// Reads of `name`, a Let's or an accumulator's, become reads of that element of the tensor.
void read_from_tensor(Body& body, const std::string& name, const std::string& tensor,
                      const std::vector<Expr>& index);

/// What was read from and stored to `tensor` at an index is then at `at(index)` of `to`.
void move_tensor(Body& body, const std::string& tensor, const std::string& to,
                 const std::function<std::vector<Expr>(const std::vector<Expr>&)>& at);

}  // namespace mote::cuda
