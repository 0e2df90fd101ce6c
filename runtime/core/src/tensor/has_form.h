// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "mote/runtime/tensor.h"
#include "mote/runtime/tensor_form.h"

namespace mote {

/// Returns true if the tensor has that form; makes no other form to find out.
inline bool has_form(const Tensor& tensor, const TensorForm& form) {
  const DLTensor& dl = tensor.dl();
  return dl.ndim == form.rank() && dl.ndim == form.strides.size() &&
         std::equal(form.shape.begin(), form.shape.end(), dl.shape) &&
         std::equal(form.strides.begin(), form.strides.end(), dl.strides) &&
         dl.device.device_type == form.device.device_type &&
         dl.device.device_id == form.device.device_id && tensor.dtype() == form.dtype;
}

}  // namespace mote
