// SPDX-License-Identifier: Apache-2.0
// Devices: memory and streams that are not the host's, as plug-ins offer them (mote/base/device.h).
// lib/mote/cuda.so offers the first GPU under the name "cuda".
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "mote/base/device.h"
#include "mote/base/export.h"

namespace MOTE_API mote {

/// A device of a plug-in that load_backends() has loaded; a value, valid until the process ends.
class Device {
 public:
  /// Throws StatusError MOTE_UNSUPPORTED if no plug-in offers a device of that name, or if it
  /// cannot be used, with the reason: no driver, no GPU.
  static Device find(std::string_view name);
  /// Returns the device that holds such tensors; nullopt for the host, and if no plug-in offers it.
  static std::optional<Device> of(DLDevice device);

  const char* name() const { return raw_->name; }
  DLDevice dl() const { return raw_->device; }
  const mote_device& raw() const { return *raw_; }
  friend bool operator==(const Device&, const Device&) = default;

 private:
  explicit Device(const mote_device& raw) : raw_(&raw) {}
  const mote_device* raw_;
};

/// Returns the devices that the loaded plug-ins offer, whether or not they can be used. If several
/// have the same DLDevice, the one that was loaded first is listed.
std::vector<const mote_device*> loaded_devices();

}  // namespace mote
