// SPDX-License-Identifier: Apache-2.0
// Copies of elements to a device, from it, or within it.
#pragma once

#include <vector>

#include "mote/runtime/device.h"
#include "mote/runtime/tensor.h"

namespace mote {

inline bool is_on_host(const Tensor& x) { return x.device().device_type == kDLCPU; }

/// Throws StatusError MOTE_UNSUPPORTED if no loaded plug-in offers the device that x is on.
Device device_of(const Tensor& x, const char* op);

inline bool is_on(const Tensor& x, const Device& device) {
  return x.device().device_type == device.dl().device_type &&
         x.device().device_id == device.dl().device_id;
}

/// Throws the errors that copy() throws before anything is moved.
void check_copy(const Tensor& x, const Tensor& y);
/// Throws the errors that fill() throws before anything is written.
void check_fill(const Tensor& y);

/// Computes y = x in the device's stream, where each tensor is on the device or the host's, and at
/// least one is on the device. x has y's shape. Waits if the host has to convert elements that come
/// from the device. x, y and the returned tensors must be kept until the stream has done it.
std::vector<Tensor> issue_copy(const Device& device, const Tensor& x, const Tensor& y,
                               void* stream);

/// Copies and waits; x and y may be on two devices.
void copy_by_device(const Tensor& x, const Tensor& y);

/// Allocates memory for the span of x, with x's extents and strides, on the host or on the device.
Tensor image_of(const Tensor& x, const std::optional<Device>& on = std::nullopt);

}  // namespace mote
