// SPDX-License-Identifier: Apache-2.0
// Loading backends from shared libraries. A failure is an Error that names the library and gives
// the loader's reason; an ABI version that differs, a missing symbol, a struct that is too small
// likewise.
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
/// The devices that it offers, valid as long as its library. Error as load_plugin()'s where they
/// are not as device.h says.
std::vector<const mote_device*> devices_of(const Plugin& plugin);

/// Error "OWNER: what" for a table that is not as kernel.h says: a struct that is too small, a
/// name, a list or a function that is missing.
void check_backend(const std::string& owner, const mote_backend& backend);

/// Kernel `index` of the backend: a plug-in's own structs may be larger than ours.
const mote_kernel& kernel_at(const mote_backend& backend, std::int32_t index);

/// What a kernel of an op says last where the call's dtypes are other kernels' of that op.
inline constexpr const char* kIsOfOtherDtypes = "this kernel is one of other dtypes";

/// The first kernel of the backend for that op whose can_run accepts the call; otherwise the
/// reasons of those that declined, each once, or "no kernel for OP". That a kernel is one of other
/// dtypes is no reason where another has one.
struct KernelChoice {
  const mote_kernel* kernel = nullptr;
  std::string reason;
};
KernelChoice choose_kernel(const mote_backend& backend, const mote_call& call);

}  // namespace mote
