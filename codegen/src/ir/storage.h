// SPDX-License-Identifier: Apache-2.0
// Holds the tensors of a running loop program. Inputs are views of the caller's arrays, in which an
// axis of extent 1 repeats; outputs and temporaries own their values and record which were stored.
#pragma once

#include <cstdint>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote::machine {

struct Tensor {
  const TensorDecl* declaration = nullptr;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::vector<Number> values;        ///< empty for inputs
  std::vector<std::uint8_t> stored;  ///< empty for inputs
  const Number* input = nullptr;     ///< inputs only

  const Number* data() const { return input != nullptr ? input : values.data(); }
};

/// Makes the view of an input. `shape` is the full shape; array's may lack leading axes or have 1
/// for some. Throws Error if the dtype or the number of values is wrong.
Tensor input_tensor(const LoopProgram& p, const TensorDecl& t,
                    const std::vector<std::int64_t>& shape, const Array& array);
/// Makes an output or temporary, with nothing stored. Throws InternalError for a negative extent.
Tensor stored_tensor(const LoopProgram& p, const TensorDecl& t, const Binding& binding);

}  // namespace mote::machine
