// SPDX-License-Identifier: Apache-2.0
// Memory of values: blocks that values gave back are taken again by the next ones.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <vector>

#include "mote/runtime/allocator.h"

namespace mote::trace {

/// The free bytes that are kept in any case; beyond, a pool keeps no more than were ever used at
/// once.
inline constexpr std::size_t kKeptBytes = std::size_t{64} << 20U;

/// Blocks of memory, in classes by size, 8 for each power of two. Of those of a class the one with
/// the lowest address is taken first, so that a program that does the same again finds its values
/// where they were, and compiled graphs need not be told of other addresses. It lives until its
/// owner has let it go and the last tensor that has a block of it is gone, which may be later. It
/// is safe from any thread.
class Pool {
 public:
  static Pool* make() { return new Pool; }
  /// Gives all free blocks back, and keeps none any more.
  void let_go();

  Allocator allocator();
  std::size_t free_bytes();
  /// Gives all free blocks back.
  void trim();

 private:
  static constexpr std::size_t kClasses = 8 * 64;

  Pool() = default;
  ~Pool() = default;
  void* take(std::size_t bytes);
  void give(void* memory);
  void release_free();

  std::mutex mutex_;
  std::array<std::vector<void*>, kClasses> free_;  ///< heaps, the lowest address on top
  std::size_t free_bytes_ = 0;
  std::size_t used_bytes_ = 0;
  std::size_t most_used_bytes_ = 0;
  std::size_t blocks_ = 0;  ///< those that tensors have
  bool has_owner_ = true;
};

/// Returns the bytes of the smallest block, of the pool's sizes, that has room for that many.
std::size_t block_bytes(std::size_t bytes);

struct LetGo {
  void operator()(Pool* pool) const { pool->let_go(); }
};

}  // namespace mote::trace
