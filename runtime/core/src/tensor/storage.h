// SPDX-License-Identifier: Apache-2.0
// Counted memory. The header stands in front of the elements, in the same block, so that a tensor
// is one call of the allocator; of an imported DLPack, and of memory on a device, only the header
// is there.
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
  const mote_device* device;  ///< whose memory it is, where it is not the host's
  void* on_device;
};

namespace mote {

/// A block for that many bytes of elements. StatusError MOTE_OUT_OF_MEMORY names the size.
mote_storage* make_storage(std::size_t bytes, const Allocator& allocator);
void* elements_of(mote_storage* storage);
/// The same on a device, with a header of the allocator's; elements_of() is where they are there.
mote_storage* make_storage_on(const mote_device& device, std::size_t bytes,
                              const Allocator& allocator);
/// A null storage is memory of someone else's: nothing happens.
void retain(mote_storage* storage) noexcept;
void release(mote_storage* storage) noexcept;

/// StatusError where a function is missing.
void check_allocator(const Allocator& allocator);
/// `bytes` bytes of the allocator, checked: what it gives must be there and aligned.
void* checked_allocate(const Allocator& allocator, std::size_t bytes);

}  // namespace mote
