// SPDX-License-Identifier: Apache-2.0
// Replaces operator new in its forms that the standard library's defaults call, and counts bytes.
#include "peak_heap.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> is_counting = false;
std::atomic<std::ptrdiff_t> bytes = 0;
std::atomic<std::ptrdiff_t> peak = 0;

std::ptrdiff_t size_of(void* memory) {
  return static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
}

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  if (!is_counting) return memory;
  const std::ptrdiff_t now = bytes += size_of(memory);
  std::ptrdiff_t most = peak;
  while (now > most && !peak.compare_exchange_weak(most, now)) {
  }
  return memory;
}

void give(void* memory) {
  if (memory != nullptr && is_counting) bytes -= size_of(memory);
  std::free(memory);
}

void* take(std::size_t n, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(unit, (n + unit - 1) / unit * unit));
}

}  // namespace

namespace mote::bench {

void start_counting() {
  bytes = 0;
  peak = 0;
  is_counting = true;
}

std::size_t stop_counting() {
  is_counting = false;
  return static_cast<std::size_t>(peak.load());
}

void empty_heap() { malloc_trim(0); }

}  // namespace mote::bench

// The forms for arrays and those that do not throw call these.
void* operator new(std::size_t n) { return counted(std::malloc(n)); }
void* operator new(std::size_t n, std::align_val_t a) { return take(n, a); }
void operator delete(void* p) noexcept { give(p); }
void operator delete(void* p, std::size_t) noexcept { give(p); }
void operator delete(void* p, std::align_val_t) noexcept { give(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { give(p); }
