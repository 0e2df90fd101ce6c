// SPDX-License-Identifier: Apache-2.0
// Replaces operator new in all its forms, to count allocations and to refuse them if a test wants
// that. All are replaced, since sanitizers pair each with its own delete.
#include "runtime/heap_count.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr int kNever = std::numeric_limits<int>::max();
std::atomic<int> count = 0;
std::atomic<int> live = 0;
std::atomic<std::size_t> live_bytes = 0;
std::atomic<std::size_t> most_bytes = 0;
std::atomic<int> fails_first = kNever;  // compared with the count
std::atomic<int> fails_last = kNever;
std::atomic<bool> has_failed = false;
constexpr auto kDefault = static_cast<std::align_val_t>(alignof(std::max_align_t));

void* take(std::size_t bytes, std::align_val_t alignment) {
  const int number = count++;
  if (number >= fails_first && number <= fails_last) {
    has_failed = true;
    return nullptr;
  }
  ++live;
  const auto unit = static_cast<std::size_t>(alignment);
  void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
  const std::size_t now = live_bytes += malloc_usable_size(memory);
  std::size_t most = most_bytes;
  while (now > most && !most_bytes.compare_exchange_weak(most, now)) {
  }
  return memory;
}
void* take_or_throw(std::size_t bytes, std::align_val_t alignment) {
  if (void* memory = take(bytes, alignment)) return memory;
  throw std::bad_alloc();
}
void give(void* memory) {
  if (memory != nullptr) --live;
  live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

namespace mote::test {

int heap_allocations() { return count; }
int live_allocations() { return live; }

HeapPeak::HeapPeak() : first_(live_bytes) { most_bytes = first_; }
std::size_t HeapPeak::bytes() const { return most_bytes - first_; }

FailingHeap::FailingHeap(int nth, Mode mode) {
  ::has_failed = false;
  const int first = count + nth;
  fails_last = mode == Mode::once ? first : kNever;
  fails_first = first;
}
FailingHeap::~FailingHeap() { fails_first = kNever; }
bool FailingHeap::has_failed() const { return ::has_failed; }

}  // namespace mote::test

using Align = std::align_val_t;
using NoThrow = std::nothrow_t;

void* operator new(std::size_t n) { return take_or_throw(n, kDefault); }
void* operator new[](std::size_t n) { return take_or_throw(n, kDefault); }
void* operator new(std::size_t n, Align a) { return take_or_throw(n, a); }
void* operator new[](std::size_t n, Align a) { return take_or_throw(n, a); }
void* operator new(std::size_t n, const NoThrow&) noexcept { return take(n, kDefault); }
void* operator new[](std::size_t n, const NoThrow&) noexcept { return take(n, kDefault); }
void* operator new(std::size_t n, Align a, const NoThrow&) noexcept { return take(n, a); }
void* operator new[](std::size_t n, Align a, const NoThrow&) noexcept { return take(n, a); }
void operator delete(void* p) noexcept { give(p); }
void operator delete[](void* p) noexcept { give(p); }
void operator delete(void* p, std::size_t) noexcept { give(p); }
void operator delete[](void* p, std::size_t) noexcept { give(p); }
void operator delete(void* p, Align) noexcept { give(p); }
void operator delete[](void* p, Align) noexcept { give(p); }
void operator delete(void* p, std::size_t, Align) noexcept { give(p); }
void operator delete[](void* p, std::size_t, Align) noexcept { give(p); }
void operator delete(void* p, const NoThrow&) noexcept { give(p); }
void operator delete[](void* p, const NoThrow&) noexcept { give(p); }
void operator delete(void* p, Align, const NoThrow&) noexcept { give(p); }
void operator delete[](void* p, Align, const NoThrow&) noexcept { give(p); }
