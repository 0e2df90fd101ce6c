// SPDX-License-Identifier: Apache-2.0
// An allocator that fails from its n-th call on, and counts the blocks that were not freed.
#pragma once

#include "mote/runtime/allocator.h"

namespace mote::test {

struct FailingAllocator {
  int fails_from = -1;  ///< the first call that fails, from 0; -1: none
  int calls = 0;
  int live = 0;

  Allocator hook() { return {allocate, release, this}; }

 private:
  static void* allocate(void* context, std::size_t bytes, std::size_t alignment) {
    auto* self = static_cast<FailingAllocator*>(context);
    if (self->calls++ >= self->fails_from && self->fails_from >= 0) return nullptr;
    ++self->live;
    const Allocator system = system_allocator();
    return system.allocate(system.context, bytes, alignment);
  }
  static void release(void* context, void* memory, std::size_t bytes, std::size_t alignment) {
    --static_cast<FailingAllocator*>(context)->live;
    const Allocator system = system_allocator();
    system.release(system.context, memory, bytes, alignment);
  }
};

}  // namespace mote::test
