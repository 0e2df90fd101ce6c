// SPDX-License-Identifier: Apache-2.0
// Leases of workspace are served in the order in which they were requested, so that a large one
// does not wait for ever behind small ones. A block that is not leased holds its own list entry:
// giving back allocates nothing.
#include "mote/runtime/workspace.h"

#include <algorithm>
#include <new>
#include <string>

#include "mote/runtime/status.h"
#include "tensor/storage.h"

namespace mote {
namespace {

/// Rounds up to a multiple of kAlignment. This cannot overflow since `bytes` <= PTRDIFF_MAX.
std::size_t rounded(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

struct WorkspacePool::Block {
  Block* next;
  std::size_t bytes;
};
static_assert(sizeof(void*) + sizeof(std::size_t) <= kAlignment);

WorkspacePool::WorkspacePool(std::size_t limit, const Allocator& allocator)
    : limit_(std::min(limit, kNoWorkspaceLimit)), allocator_(allocator) {}

WorkspacePool::~WorkspacePool() { release_idle(0); }

WorkspacePool::Lease::~Lease() {
  if (pool_ != nullptr) pool_->give_back(data_, bytes_);
}

bool WorkspacePool::allows(std::size_t bytes) const {
  return bytes <= kNoWorkspaceLimit && rounded(bytes) <= limit_;
}

void WorkspacePool::give_back(void* data, std::size_t bytes) noexcept {
  {
    const std::lock_guard lock(mutex_);
    idle_ = new (data) Block{idle_, bytes};
    idle_bytes_ += bytes;
    leased_bytes_ -= bytes;
  }
  changed_.notify_all();
}

/// Releases idle blocks until at most that number of bytes are idle.
void WorkspacePool::release_idle(std::size_t down_to) noexcept {
  while (idle_ != nullptr && idle_bytes_ > down_to) {
    Block* block = std::exchange(idle_, idle_->next);
    const std::size_t bytes = block->bytes;
    idle_bytes_ -= bytes;
    allocator_.release(allocator_.context, block, bytes + kWorkspaceMargin, kAlignment);
  }
}

/// Returns the smallest idle block that has that number of bytes and fits the limit; null if there
/// is none.
WorkspacePool::Block** WorkspacePool::best_fit(std::size_t bytes) {
  Block** best = nullptr;
  for (Block** link = &idle_; *link != nullptr; link = &(*link)->next) {
    const std::size_t size = (*link)->bytes;
    if (size < bytes || size > limit_ - leased_bytes_) continue;
    if (best == nullptr || size < (*best)->bytes) best = link;
  }
  return best;
}

void* WorkspacePool::allocate(std::size_t bytes) {
  release_idle(limit_ - leased_bytes_ - bytes);
  try {
    return checked_allocate(allocator_, bytes + kWorkspaceMargin);
  } catch (...) {  // even if there was no memory for the error's text
    if (idle_ == nullptr) throw;
  }
  release_idle(0);
  return checked_allocate(allocator_, bytes + kWorkspaceMargin);
}

WorkspacePool::Lease WorkspacePool::lease(std::size_t bytes) {
  if (bytes == 0) return {};
  if (!allows(bytes))
    throw StatusError(MOTE_OUT_OF_MEMORY, "workspace: " + std::to_string(bytes) +
                                              " bytes are asked for, the limit is " +
                                              std::to_string(limit_));
  const std::size_t size = rounded(bytes);
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  changed_.wait(lock, [&] { return ticket == serving_ && size <= limit_ - leased_bytes_; });
  struct Served {  // the next lease's turn comes, even after an error
    WorkspacePool& pool;
    ~Served() {
      ++pool.serving_;
      pool.changed_.notify_all();
    }
  } served{*this};
  if (Block** link = best_fit(size)) {
    Block* block = *link;
    *link = block->next;
    idle_bytes_ -= block->bytes;
    leased_bytes_ += block->bytes;
    return {this, block, block->bytes};
  }
  void* data = allocate(size);
  leased_bytes_ += size;
  return {this, data, size};
}

std::size_t WorkspacePool::held() const {
  const std::lock_guard lock(mutex_);
  return idle_bytes_ + leased_bytes_;
}

void WorkspacePool::trim() {
  const std::lock_guard lock(mutex_);
  release_idle(0);
}

}  // namespace mote
