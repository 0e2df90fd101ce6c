// SPDX-License-Identifier: Apache-2.0
// The source of tensors' memory: a hook that a program may replace. Every tensor keeps a copy of
// the hook that made it, and gives its memory back through it.
#pragma once

#include <cstddef>

#include "mote/base/export.h"

namespace MOTE_API mote {

struct Allocator {
  /// Returns at least `bytes` bytes at a multiple of `alignment`, a power of two; nullptr if there
  /// is no memory.
  void* (*allocate)(void* context, std::size_t bytes, std::size_t alignment);
  void (*release)(void* context, void* memory, std::size_t bytes, std::size_t alignment);
  void* context;
};

/// Tensors' elements begin at a multiple of this number of bytes.
inline constexpr std::size_t kAlignment = 64;

/// Returns the allocator that is used if none is given: system_allocator(), or the one that the
/// program set. It is safe from any thread.
Allocator default_allocator();
/// Affects tensors made later. Throws StatusError if a function is missing.
void set_default_allocator(const Allocator& allocator);
/// Returns the allocator that uses the C++ library's aligned operator new.
Allocator system_allocator();

}  // namespace mote
