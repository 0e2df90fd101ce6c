// SPDX-License-Identifier: Apache-2.0
// Where tensors get their memory: a hook that a program may replace. Every tensor keeps a copy of
// the hook that made it, and gives its memory back through it.
#pragma once

#include <cstddef>

#include "mote/base/export.h"

namespace MOTE_API mote {

struct Allocator {
  /// At least `bytes` bytes at a multiple of `alignment`, a power of two; nullptr: there is none.
  void* (*allocate)(void* context, std::size_t bytes, std::size_t alignment);
  void (*release)(void* context, void* memory, std::size_t bytes, std::size_t alignment);
  void* context;
};

/// Tensors' elements begin at a multiple of it.
inline constexpr std::size_t kAlignment = 64;

/// What is used where no allocator is given: the C++ library's aligned operator new, or what the
/// program set. Both are safe from any thread.
Allocator default_allocator();
/// Throws StatusError for one without functions. Affects tensors made later.
void set_default_allocator(const Allocator& allocator);
/// The C++ library's.
Allocator system_allocator();

}  // namespace mote
