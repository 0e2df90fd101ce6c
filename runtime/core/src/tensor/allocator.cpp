// SPDX-License-Identifier: Apache-2.0
// The allocator in use, and the C++ library's.
#include "mote/runtime/allocator.h"

#include <mutex>
#include <new>

#include "tensor/storage.h"

namespace mote {
namespace {

void* system_allocate(void* /*context*/, std::size_t bytes, std::size_t alignment) {
  return ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
}

void system_release(void* /*context*/, void* memory, std::size_t /*bytes*/, std::size_t alignment) {
  ::operator delete (memory, std::align_val_t{alignment});
}

std::mutex& guard() {
  static std::mutex mutex;
  return mutex;
}

Allocator& current() {
  static Allocator allocator = system_allocator();
  return allocator;
}

}  // namespace

Allocator system_allocator() { return {system_allocate, system_release, nullptr}; }

Allocator default_allocator() {
  const std::lock_guard lock(guard());
  return current();
}

void set_default_allocator(const Allocator& allocator) {
  check_allocator(allocator);
  const std::lock_guard lock(guard());
  current() = allocator;
}

}  // namespace mote
