// Counted memory. The header stands in front of the elements, in the same block, so that a tensor
// is one call of the allocator; of an imported DLPack only the header is ours.
#pragma once

#include <atomic>
#include <cstddef>

#include "mote/runtime/allocator.h"
#include "mote/runtime/tensor_struct.h"

struct mote_storage {
  std::atomic<long> owners;
  mote::Allocator allocator;
  std::size_t block_bytes;
  DLManagedTensor* foreign;
};

namespace mote {

/// A block for that many bytes of elements. StatusError MOTE_OUT_OF_MEMORY names the size.
mote_storage* make_storage(std::size_t bytes, const Allocator& allocator);
void* elements_of(mote_storage* storage);
/// A null storage is memory of someone else's: nothing happens.
void retain(mote_storage* storage) noexcept;
void release(mote_storage* storage) noexcept;

/// StatusError where a function is missing.
void check_allocator(const Allocator& allocator);
/// `bytes` bytes of the allocator, checked: what it gives must be there and aligned.
void* checked_allocate(const Allocator& allocator, std::size_t bytes);

}  // namespace mote
