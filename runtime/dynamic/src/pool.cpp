// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <new>

namespace mote::trace {
namespace {

/// The smallest block, and the bytes in front of each in which its class is stored.
constexpr std::size_t kHeader = kAlignment;

/// Returns the number of the smallest class whose blocks have that many bytes. Class 8·e + m has
/// blocks of 2^e·(1 + m/8) bytes.
std::size_t class_of(std::size_t bytes) {
  bytes = std::max(bytes, kHeader);
  const auto exponent = static_cast<std::size_t>(std::bit_width(bytes) - 1);
  const std::size_t eighth = std::size_t{1} << (exponent - 3);
  const std::size_t above = bytes - (std::size_t{1} << exponent);
  return 8 * exponent + (above + eighth - 1) / eighth;
}

std::size_t class_bytes(std::size_t index) {
  const std::size_t power = std::size_t{1} << (index / 8);
  return power + index % 8 * (power / 8);
}

std::size_t& class_in(void* memory) {
  return *reinterpret_cast<std::size_t*>(static_cast<std::byte*>(memory) - kHeader);
}

void give_back(void* memory) noexcept {
  ::operator delete (static_cast<std::byte*>(memory) - kHeader, std::align_val_t{kAlignment});
}

}  // namespace

std::size_t block_bytes(std::size_t bytes) { return class_bytes(class_of(bytes)); }

void* Pool::take(std::size_t bytes) {
  const std::size_t least = class_of(bytes);
  if (least + 8 >= kClasses) return nullptr;
  const std::lock_guard lock(mutex_);
  void* memory = nullptr;
  for (std::size_t k = least; k <= least + 8 && memory == nullptr; ++k) {
    if (free_[k].empty()) continue;
    std::ranges::pop_heap(free_[k], std::greater<>());
    memory = free_[k].back();
    free_[k].pop_back();
    free_bytes_ -= class_bytes(k);
  }
  if (memory == nullptr) {
    void* block =
        ::operator new (class_bytes(least) + kHeader, std::align_val_t{kAlignment}, std::nothrow);
    if (block == nullptr) {
      release_free();
      block =
          ::operator new (class_bytes(least) + kHeader, std::align_val_t{kAlignment}, std::nothrow);
    }
    if (block == nullptr) return nullptr;
    memory = static_cast<std::byte*>(block) + kHeader;
    class_in(memory) = least;
  }
  ++blocks_;
  used_bytes_ += class_bytes(class_in(memory));
  most_used_bytes_ = std::max(most_used_bytes_, used_bytes_);
  return memory;
}

void Pool::give(void* memory) {
  bool is_last = false;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t index = class_in(memory);
    used_bytes_ -= class_bytes(index);
    --blocks_;
    const std::size_t free = free_bytes_ + class_bytes(index);
    const bool keeps = has_owner_ && free <= std::max(kKeptBytes, most_used_bytes_);
    try {
      if (keeps) {
        free_[index].push_back(memory);
        std::ranges::push_heap(free_[index], std::greater<>());
        free_bytes_ = free;
      }
    } catch (const std::bad_alloc&) {
      give_back(memory);
    }
    if (!keeps) give_back(memory);
    is_last = !has_owner_ && blocks_ == 0;
  }
  if (is_last) delete this;
}

void Pool::release_free() {
  for (std::vector<void*>& blocks : free_) {
    for (void* memory : blocks) give_back(memory);
    std::vector<void*>().swap(blocks);
  }
  free_bytes_ = 0;
}

void Pool::trim() {
  const std::lock_guard lock(mutex_);
  release_free();
  most_used_bytes_ = used_bytes_;
}

void Pool::let_go() {
  bool is_last = false;
  {
    const std::lock_guard lock(mutex_);
    release_free();
    has_owner_ = false;
    is_last = blocks_ == 0;
  }
  if (is_last) delete this;
}

std::size_t Pool::free_bytes() {
  const std::lock_guard lock(mutex_);
  return free_bytes_;
}

Allocator Pool::allocator() {
  const auto take_from = [](void* pool, std::size_t bytes, std::size_t) {
    return static_cast<Pool*>(pool)->take(bytes);
  };
  const auto give_to = [](void* pool, void* memory, std::size_t, std::size_t) {
    static_cast<Pool*>(pool)->give(memory);
  };
  return {take_from, give_to, this};
}

}  // namespace mote::trace
