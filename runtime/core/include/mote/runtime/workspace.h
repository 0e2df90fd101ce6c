// SPDX-License-Identifier: Apache-2.0
// Workspace of kernels, which is kept for the next call, with a limit on the memory that all calls
// hold together. It is safe from any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "mote/base/export.h"
#include "mote/runtime/allocator.h"

namespace MOTE_API mote {

/// The number of extra bytes after each lease, which do not count, so that writing slightly out of
/// range destroys nothing.
inline constexpr std::size_t kWorkspaceMargin = 4 * kAlignment;

/// No limit except the address space.
inline constexpr std::size_t kNoWorkspaceLimit =
    static_cast<std::size_t>(PTRDIFF_MAX) / kAlignment * kAlignment - kWorkspaceMargin;

class WorkspacePool {
 public:
  /// A limit beyond kNoWorkspaceLimit counts as kNoWorkspaceLimit.
  explicit WorkspacePool(std::size_t limit = kNoWorkspaceLimit,
                         const Allocator& allocator = default_allocator());
  /// All leases must have been given back.
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool&) = delete;
  WorkspacePool& operator=(const WorkspacePool&) = delete;

  /// Memory at a multiple of kAlignment, which the destructor gives back.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept : Lease() { swap(other); }
    Lease& operator=(Lease&& other) noexcept {
      Lease taken(std::move(other));
      swap(taken);
      return *this;
    }
    ~Lease();
    void* data() const { return data_; }

   private:
    friend class WorkspacePool;
    Lease(WorkspacePool* pool, void* data, std::size_t bytes)
        : pool_(pool), data_(data), bytes_(bytes) {}
    void swap(Lease& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(data_, other.data_);
      std::swap(bytes_, other.bytes_);
    }

    WorkspacePool* pool_ = nullptr;
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
  };

  /// Leases `bytes` bytes, which count as the next multiple of kAlignment. If other leases leave
  /// too little of the limit, it waits for them, in the order of the calls, so a thread that holds
  /// a lease must not ask for another one. Throws StatusError MOTE_OUT_OF_MEMORY beyond the limit
  /// and if the allocator has none.
  Lease lease(std::size_t bytes);
  /// True if that number of bytes can be leased at all, once no other lease is held.
  bool allows(std::size_t bytes) const;
  std::size_t limit() const { return limit_; }
  /// Returns the number of bytes taken from the allocator now: leased, and kept for the next call.
  std::size_t held() const;
  /// Gives all memory that is not leased back to the allocator.
  void trim();

 private:
  struct Block;  // the list entry in memory that is not leased

  void give_back(void* data, std::size_t bytes) noexcept;
  Block** best_fit(std::size_t bytes);
  void* allocate(std::size_t bytes);
  void release_idle(std::size_t down_to) noexcept;

  const std::size_t limit_;
  const Allocator allocator_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Block* idle_ = nullptr;
  std::size_t idle_bytes_ = 0;
  std::size_t leased_bytes_ = 0;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t serving_ = 0;
};

}  // namespace mote
