// SPDX-License-Identifier: Apache-2.0
// Allocates, shares and frees reference-counted memory.
#include "tensor/storage.h"

#include <cstdint>
#include <new>
#include <string>

#include "device/device_call.h"
#include "mote/runtime/status.h"

namespace mote {
namespace {

constexpr std::size_t kHeaderBytes = (sizeof(mote_storage) + kAlignment - 1) & ~(kAlignment - 1);

}  // namespace

void check_allocator(const Allocator& allocator) {
  if (allocator.allocate == nullptr || allocator.release == nullptr)
    throw StatusError(MOTE_INVALID, "allocator: allocate and release must be given, got null");
}

void* checked_allocate(const Allocator& allocator, std::size_t bytes) {
  check_allocator(allocator);
  void* block = allocator.allocate(allocator.context, bytes, kAlignment);
  if (block == nullptr)
    throw StatusError(MOTE_OUT_OF_MEMORY,
                      "tensor: the allocator has no " + std::to_string(bytes) + " bytes");
  if (reinterpret_cast<std::uintptr_t>(block) % kAlignment == 0) return block;
  allocator.release(allocator.context, block, bytes, kAlignment);
  throw StatusError(MOTE_FAILED, "tensor: the allocator gave memory that is not aligned to " +
                                     std::to_string(kAlignment) + " bytes");
}

mote_storage* make_storage(std::size_t bytes, const Allocator& allocator) {
  const std::size_t block_bytes = kHeaderBytes + bytes;  // no overflow: bytes <= PTRDIFF_MAX
  void* block = checked_allocate(allocator, block_bytes);
  return new (block) mote_storage{{1}, allocator, block_bytes, nullptr, nullptr, nullptr};
}

mote_storage* make_storage_on(const mote_device& device, std::size_t bytes,
                              const Allocator& allocator) {
  mote_storage* storage = make_storage(0, allocator);
  storage->device = &device;
  try {
    if (bytes > 0) device_call(device, device.allocate, bytes, &storage->on_device);
  } catch (...) {
    storage->on_device = nullptr;
    release(storage);
    throw;
  }
  return storage;
}

void* elements_of(mote_storage* storage) {
  if (storage->device != nullptr) return storage->on_device;
  return reinterpret_cast<std::byte*>(storage) + kHeaderBytes;
}

void retain(mote_storage* storage) noexcept {
  if (storage != nullptr) storage->owners.fetch_add(1, std::memory_order_relaxed);
}

void release(mote_storage* storage) noexcept {
  if (storage == nullptr || storage->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (storage->foreign != nullptr && storage->foreign->deleter != nullptr)
    storage->foreign->deleter(storage->foreign);
  if (storage->on_device != nullptr)
    device_call_quietly(storage->device->release, storage->on_device);
  const Allocator allocator = storage->allocator;
  const std::size_t bytes = storage->block_bytes;
  storage->~mote_storage();
  allocator.release(allocator.context, storage, bytes, kAlignment);
}

}  // namespace mote
