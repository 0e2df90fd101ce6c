// SPDX-License-Identifier: Apache-2.0
// Reference-counted memory. The header is in front of the elements, in the same block, so that a
// tensor is one call of the allocator; for an imported DLPack, and for memory on a device, the
// block is only the header.
#pragma once

#include <atomic>
#include <cstddef>

#include "mote/base/device.h"
#include "mote/runtime/allocator.h"
#include "mote/runtime/tensor_struct.h"

struct mote_storage {
  std::atomic<long> owners;
  mote::Allocator allocator;
  std::size_t block_bytes;
  DLManagedTensor* foreign;
  const mote_device* device;  ///< the owner of the memory if it is not the host's
  void* on_device;
};

namespace mote {

/// Allocates a block for that number of bytes of elements. StatusError MOTE_OUT_OF_MEMORY names the
/// size.
mote_storage* make_storage(std::size_t bytes, const Allocator& allocator);
void* elements_of(mote_storage* storage);
/// Allocates memory on a device, and a header with the allocator; elements_of() is the device
/// address.
mote_storage* make_storage_on(const mote_device& device, std::size_t bytes,
                              const Allocator& allocator);
/// A null storage is memory that mote does not own: these functions ignore it.
void retain(mote_storage* storage) noexcept;
void release(mote_storage* storage) noexcept;

/// Throws StatusError if a function is missing.
void check_allocator(const Allocator& allocator);
/// Allocates `bytes` bytes. Throws if the allocator returns null or a misaligned address.
void* checked_allocate(const Allocator& allocator, std::size_t bytes);

}  // namespace mote
