// SPDX-License-Identifier: Apache-2.0
// Elements on their way to a device, from it, or within it.
#pragma once

#include <vector>

#include "mote/runtime/device.h"
#include "mote/runtime/tensor.h"

namespace mote {

inline bool is_on_host(const Tensor& x) { return x.device().device_type == kDLCPU; }

/// StatusError MOTE_UNSUPPORTED where no loaded plug-in offers the device that x is on.
Device device_of(const Tensor& x, const char* op);

inline bool is_on(const Tensor& x, const Device& device) {
  return x.device().device_type == device.dl().device_type &&
         x.device().device_id == device.dl().device_id;
}

/// What copy() refuses before anything is moved.
void check_copy(const Tensor& x, const Tensor& y);

/// y = x, where either is on the device, the other there or the host's, in its stream. x has y's
/// shape. Waits where the host has to work on what comes. What it returns is kept until the stream
/// has done it, and so are x and y.
std::vector<Tensor> issue_copy(const Device& device, const Tensor& x, const Tensor& y,
                               void* stream);

/// The same, done when it returns; x and y may be on two devices.
void copy_by_device(const Tensor& x, const Tensor& y);

/// Memory as large as what x spans, seen as x is; the host's, or on the device.
Tensor image_of(const Tensor& x, const std::optional<Device>& on = std::nullopt);

}  // namespace mote
