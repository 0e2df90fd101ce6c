// operator new in all its forms, counted. All are replaced, since sanitizers pair each with its own
// delete.
#include "runtime/heap_count.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int> count = 0;
constexpr auto kDefault = static_cast<std::align_val_t>(alignof(std::max_align_t));

void* take(std::size_t bytes, std::align_val_t alignment) {
  ++count;
  const auto unit = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
}
void* take_or_throw(std::size_t bytes, std::align_val_t alignment) {
  if (void* memory = take(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

int mote::test::heap_allocations() { return count; }

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
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, Align) noexcept { std::free(p); }
void operator delete[](void* p, Align) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, Align) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, Align) noexcept { std::free(p); }
void operator delete(void* p, const NoThrow&) noexcept { std::free(p); }
void operator delete[](void* p, const NoThrow&) noexcept { std::free(p); }
void operator delete(void* p, Align, const NoThrow&) noexcept { std::free(p); }
void operator delete[](void* p, Align, const NoThrow&) noexcept { std::free(p); }
