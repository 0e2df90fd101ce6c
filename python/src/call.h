// SPDX-License-Identifier: Apache-2.0
// A call of an op on tensors of the caller's, as a case of the oracle with given data.
#pragma once

#include <string>
#include <vector>

#include "judge/bounds.h"
#include "mote/base/kernel.h"
#include "mote/oracle/case.h"
#include "mote/runtime/tensor.h"
#include "run/buffer.h"

namespace mote::python {

struct Call {
  Case of;                             ///< at the op's own ranks
  std::vector<AxisList> output_shapes; ///< as the caller sees them
  std::vector<Dense> inputs;
  std::vector<Dense> expected;
};

/// Brings the tensors to the ranks of the op by the rules of run(), and computes the reference. A
/// null input is left out. Throws Error or StatusError, as run() does.
Call call_of(const std::string& command, const std::vector<const Tensor*>& inputs);
/// Returns the elements in row-major order; tensor_of_dense() gives them another shape.
Dense dense_of(const Tensor& x);
Tensor tensor_of_dense(const Dense& x, const AxisList& shape);

}  // namespace mote::python
