// SPDX-License-Identifier: Apache-2.0
// The tensors of a running loop program. Inputs are views of the caller's arrays, in which an axis
// of extent 1 repeats; outputs and temporaries own their values and know which were stored.
#pragma once

#include <cstdint>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote::machine {

struct Tensor {
  const TensorDecl* declaration = nullptr;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::vector<Number> values;        ///< none for inputs
  std::vector<std::uint8_t> stored;  ///< none for inputs
  const Number* input = nullptr;     ///< inputs only

  const Number* data() const { return input != nullptr ? input : values.data(); }
};

/// `shape` is the full one, of which array's may lack leading axes or have 1 for some. Throws Error
/// when dtype or number of values are wrong.
Tensor input_tensor(const LoopProgram& p, const TensorDecl& t,
                    const std::vector<std::int64_t>& shape, const Array& array);
/// An output or temporary, nothing stored yet. InternalError for a negative extent.
Tensor stored_tensor(const LoopProgram& p, const TensorDecl& t, const Binding& binding);

}  // namespace mote::machine
