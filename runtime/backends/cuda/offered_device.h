// SPDX-License-Identifier: Apache-2.0
// The first GPU as a device of the runtime: memory, streams and events by the driver.
#pragma once

#include "mote/base/device.h"

namespace mote::cuda {

/// Implements mote_plugin_devices() of each plug-in for a GPU: all offer the same device, "cuda".
mote_status offer_device(const mote_device** devices, int32_t* count);

}  // namespace mote::cuda
