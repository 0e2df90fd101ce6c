// SPDX-License-Identifier: Apache-2.0
// One call's work on the GPU: tensors of the host are copied there and back; tensors of the GPU are
// used in place, on the caller's stream.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device.h"
#include "library.h"
#include "support/call.h"

namespace mote::cuda {

/// Finds whether the tensors are the GPU's. Refuses if some are and some are not, or if one is
/// neither the GPU's nor the host's.
backend::Check find_location(const mote_call& call, bool& on_gpu);

/// A tensor that the work uses; nullptr: one that the call leaves out.
struct CallTensor {
  const DLTensor* tensor = nullptr;
  void* data = nullptr;  ///< the address of the first element
  bool written = false;
};
/// Returns the call's inputs, then its outputs.
std::vector<CallTensor> tensors_of(const mote_call& call);

/// The tensors and the workspace on the GPU, while the context is current.
struct OnDevice {
  std::vector<void*> data;  ///< the address of each tensor; nullptr if it has no elements
  void* workspace = nullptr;
  DriverStream* stream = nullptr;
  std::string& doing;  ///< the operation to name if an error occurs now
};

struct DeviceWork {
  std::string name;  ///< the kernel's; OnDevice::doing may replace it in messages
  std::vector<CallTensor> tensors;
  /// The workspace is aligned to 256 if it is allocated here, and to 64 if it is the caller's.
  std::size_t workspace_bytes = 0;
  /// Copies of the host's tensors have the same offset from a multiple of 256 as the tensors.
  bool keeps_alignment = false;
  /// Throws DriverError, LibraryError or Error.
  std::function<void(const OnDevice&)> run;
};

/// Runs the work. Refusals name the kernel: MOTE_OUT_OF_MEMORY if the GPU has too little memory,
/// MOTE_UNSUPPORTED if a library does not support the call, else MOTE_FAILED. After an error that
/// ends the GPU's context each later call is MOTE_FAILED, and says so. With the host's tensors the
/// result is complete on return, and the workspace is allocated here.
backend::Check run_on_device(const mote_call& call, void* stream, const DeviceWork& work);

/// Returns the refusal for such an error; marks the device as lost if the error ends its context.
backend::Refusal failed(Device& device, const DriverError& e, const std::string& doing);
/// Returns the refusal for a library's error. It does not mark the context as lost: if it is, the
/// driver's next call reports that.
backend::Refusal failed(const LibraryError& e, const std::string& doing);

}  // namespace mote::cuda
