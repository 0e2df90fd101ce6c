// What a name or an accumulator holds, kept in a tensor for later stages.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote::cuda {

/// Of what is read after the loop: a position for argmax and argmin.
DType dtype_of(const Accumulator& a);

/// Reads of `name`, a Let's or an accumulator's, become reads of that element of the tensor.
void read_from_tensor(Body& body, const std::string& name, const std::string& tensor,
                      const std::vector<Expr>& index);

}  // namespace mote::cuda
