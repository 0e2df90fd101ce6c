// SPDX-License-Identifier: Apache-2.0
// One call's work on the GPU: tensors of the host are copied there and back; tensors of the GPU are
// used where they are, on the caller's stream.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device.h"
#include "library.h"
#include "support/call.h"

namespace mote::cuda {

/// Whether the tensors are the GPU's; a refusal where some are and some are not, or are neither the
/// GPU's nor the host's.
backend::Check find_place(const mote_call& call, bool& on_gpu);

/// A tensor that the work uses; nullptr: one that the call leaves out.
struct CallTensor {
  const DLTensor* tensor = nullptr;
  void* data = nullptr;  ///< where the first element lies
  bool written = false;
};
/// The call's inputs, then its outputs.
std::vector<CallTensor> tensors_of(const mote_call& call);

/// The same on the GPU, while the context is current.
struct OnDevice {
  std::vector<void*> data;  ///< of each tensor; nullptr where it has no elements
  void* workspace = nullptr;
  DriverStream* stream = nullptr;
  std::string& doing;  ///< what an error now is of
};

struct DeviceWork {
  std::string name;  ///< of the kernel, until OnDevice::doing says otherwise
  std::vector<CallTensor> tensors;
  /// Where it is made here it is aligned to 256; the caller's is aligned to 64.
  std::size_t workspace_bytes = 0;
  /// Copies of the host's tensors lie as far from a multiple of 256 as these do.
  bool keeps_alignment = false;
  /// Throws DriverError, LibraryError or Error.
  std::function<void(const OnDevice&)> run;
};

/// Refusals name the kernel: MOTE_OUT_OF_MEMORY where the GPU's memory is not enough, else
/// MOTE_FAILED. After an error that ends the GPU's context each later call is MOTE_FAILED, and says
/// so. On the host's tensors the result is complete on return, and the workspace is made here.
backend::Check run_on_device(const mote_call& call, void* stream, const DeviceWork& work);

/// What such an error is, and what becomes of the device after it.
backend::Refusal failed(Device& device, const DriverError& e, const std::string& doing);
/// A library's error ends no context by itself: where one is lost, the driver's next call says so.
backend::Refusal failed(const LibraryError& e, const std::string& doing);

}  // namespace mote::cuda
