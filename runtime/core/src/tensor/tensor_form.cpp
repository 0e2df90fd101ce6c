// SPDX-License-Identifier: Apache-2.0
#include "mote/runtime/tensor_form.h"

#include "mote/runtime/tensor.h"

namespace mote {

TensorForm::TensorForm(DType d, const AxisList& s)
    : dtype(d), shape(s), strides(checked_strides(d, s)) {}

TensorForm::TensorForm(DType d, const AxisList& s, const Device& on)
    : dtype(d), shape(s), strides(checked_strides(d, s)), device(on.dl()) {}

TensorForm::TensorForm(DType d, const AxisList& s, const AxisList& steps, DLDevice on)
    : dtype(d), shape(s), strides(steps), device(on) {
  checked_span(dtype, shape, strides);
}

std::int64_t TensorForm::element_count() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::int64_t TensorForm::bytes() const { return checked_span(dtype, shape, strides); }

bool TensorForm::is_row_major() const { return strides == checked_strides(dtype, shape); }

std::size_t TensorForm::hash() const {
  std::size_t seed = 0;
  const auto mix = [&seed](std::int64_t value) {
    seed ^= std::hash<std::int64_t>()(value) + 0x9E3779B97F4A7C15U + (seed << 6) + (seed >> 2);
  };
  mix(static_cast<std::int64_t>(dtype));
  mix(device.device_type);
  mix(device.device_id);
  mix(shape.size());
  for (const std::int64_t extent : shape) mix(extent);
  for (const std::int64_t stride : strides) mix(stride);
  return seed;
}

std::string to_string(const TensorForm& form) {
  std::string text = std::string(name(form.dtype)) + to_string(form.shape);
  if (!form.is_row_major()) {
    const std::string strides = to_string(form.strides);
    text += ":" + strides.substr(1, strides.size() - 2);
  }
  if (!form.is_on_host() || form.device.device_id != 0)
    text += "@" + std::to_string(static_cast<int>(form.device.device_type)) + ":" +
            std::to_string(form.device.device_id);
  return text;
}

}  // namespace mote
