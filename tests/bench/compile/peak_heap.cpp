// SPDX-License-Identifier: Apache-2.0
// Replaces operator new in its forms that the standard library's defaults call, and counts bytes.
#include "peak_heap.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> bytes = 0;
std::atomic<std::size_t> peak = 0;

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const std::size_t now = bytes += malloc_usable_size(memory);
  std::size_t most = peak;
  while (now > most && !peak.compare_exchange_weak(most, now)) {
  }
  return memory;
}

void give(void* memory) {
  if (memory != nullptr) bytes -= malloc_usable_size(memory);
  std::free(memory);
}

void* take(std::size_t n, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(unit, (n + unit - 1) / unit * unit));
}

}  // namespace

namespace mote::bench {

std::size_t heap_bytes() { return bytes; }
std::size_t peak_heap_bytes() { return peak; }
void start_peak() { peak = bytes.load(); }

}  // namespace mote::bench

// The forms for arrays and those that do not throw call these.
void* operator new(std::size_t n) { return counted(std::malloc(n)); }
void* operator new(std::size_t n, std::align_val_t a) { return take(n, a); }
void operator delete(void* p) noexcept { give(p); }
void operator delete(void* p, std::size_t) noexcept { give(p); }
void operator delete(void* p, std::align_val_t) noexcept { give(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { give(p); }
