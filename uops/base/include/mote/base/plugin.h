// SPDX-License-Identifier: Apache-2.0
// Loads backends from shared libraries. A failure is an Error that names the library and gives the
// loader's reason; so are an ABI version that differs, a missing symbol and too small a struct.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mote/base/device.h"
#include "mote/base/export.h"
#include "mote/base/kernel.h"

namespace MOTE_API mote {

/// A loaded plug-in; the library is closed with the last copy.
struct Plugin {
  std::string path;
  std::vector<const mote_backend*> backends;
  std::shared_ptr<void> library;
};
Plugin load_plugin(const std::string& path);
/// Returns the devices that the plug-in offers, valid as long as its library. Throws Error as
/// load_plugin() does if they do not conform to device.h.
std::vector<const mote_device*> devices_of(const Plugin& plugin);

/// Throws Error "OWNER: what" for a table that does not conform to kernel.h: a struct that is too
/// small, or a missing name, list or function.
void check_backend(const std::string& owner, const mote_backend& backend);

/// Returns kernel `index` of the backend: a plug-in's own structs may be larger than ours.
const mote_kernel& kernel_at(const mote_backend& backend, std::int32_t index);

/// The last words of a kernel's reason if other kernels of the op are for the call's dtypes.
inline constexpr const char* kIsOfOtherDtypes = "this kernel is one of other dtypes";

/// The first kernel of the backend for the op whose can_run accepts the call; otherwise the reasons
/// of those that declined, each once, or "no kernel for OP". The reason that a kernel is for other
/// dtypes is left out if another kernel gives another reason.
struct KernelChoice {
  const mote_kernel* kernel = nullptr;
  std::string reason;
};
KernelChoice choose_kernel(const mote_backend& backend, const mote_call& call);

}  // namespace mote
