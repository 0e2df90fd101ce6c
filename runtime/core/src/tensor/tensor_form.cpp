// SPDX-License-Identifier: Apache-2.0
#include "mote/runtime/tensor_form.h"

#include "mote/runtime/tensor.h"

namespace mote {

TensorForm::TensorForm(DType dtype, const AxisList& shape)
    : dtype(dtype), shape(shape), strides(checked_strides(dtype, shape)) {}

TensorForm::TensorForm(DType dtype, const AxisList& shape, const AxisList& strides, DLDevice device)
    : dtype(dtype), shape(shape), strides(strides), device(device) {
  checked_span(dtype, shape, strides);
}

std::string to_string(const TensorForm& form) {
  std::string text = std::string(name(form.dtype)) + to_string(form.shape);
  if (form.strides != checked_strides(form.dtype, form.shape)) {
    const std::string strides = to_string(form.strides);
    text += ":" + strides.substr(1, strides.size() - 2);
  }
  if (form.device.device_type != kDLCPU || form.device.device_id != 0)
    text += "@" + std::to_string(static_cast<int>(form.device.device_type)) + ":" +
            std::to_string(form.device.device_id);
  return text;
}

}  // namespace mote
