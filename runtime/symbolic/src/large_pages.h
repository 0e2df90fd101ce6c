// SPDX-License-Identifier: Apache-2.0
// Memory in large pages: a graph of 100,000 nodes is written once and read a few times, so that the
// system's work for each small page is a good part of the time.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace mote {

/// Asks the system to give this memory, which nothing has touched yet, in large pages. It may take
/// that as no more than a hint, and memory of a few such pages is left alone.
inline void prefer_large_pages(const void* memory, std::size_t bytes) noexcept {
  constexpr std::uintptr_t kPage = 4096;
  constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20U;
  if (bytes < 2 * kLargePage) return;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t begin = (address + kPage - 1) / kPage * kPage;
  const std::uintptr_t end = (address + bytes) / kPage * kPage;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace mote
