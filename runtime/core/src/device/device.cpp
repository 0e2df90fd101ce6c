// SPDX-License-Identifier: Apache-2.0
#include "mote/runtime/device.h"

#include <algorithm>
#include <string>

#include "device/device_call.h"

namespace mote {

void fail_on(const mote_device& device, mote_status status, const char* message) {
  const bool known = status > MOTE_OK && status <= MOTE_FAILED;
  const std::string why =
      !known          ? "it returned the unknown status " + std::to_string(static_cast<int>(status))
      : *message == 0 ? "it gives no reason"
                      : message;
  throw StatusError(known ? status : MOTE_FAILED, std::string(device.name) + ": " + why);
}

Device Device::find(std::string_view name) {
  std::string others;
  for (const mote_device* d : loaded_devices()) {
    if (name == d->name) {
      device_call(*d, d->ready);
      return Device(*d);
    }
    others += (others.empty() ? ": " : ", ") + std::string(d->name);
  }
  throw StatusError(MOTE_UNSUPPORTED, "device: no plug-in that was loaded offers '" +
                                          std::string(name) + "'; what they offer" +
                                          (others.empty() ? ": nothing" : others));
}

std::optional<Device> Device::of(DLDevice device) {
  if (device.device_type == kDLCPU) return std::nullopt;
  for (const mote_device* d : loaded_devices())
    if (d->device.device_type == device.device_type && d->device.device_id == device.device_id)
      return Device(*d);
  return std::nullopt;
}

}  // namespace mote
