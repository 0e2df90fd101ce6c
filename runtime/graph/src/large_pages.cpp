// SPDX-License-Identifier: Apache-2.0
#include "mote/graph/large_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace mote::detail {

void prefer_large_pages(const void* memory, std::size_t bytes) noexcept {
  constexpr std::uintptr_t kPage = 4096;
  constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20U;
  if (bytes < 2 * kLargePage) return;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t begin = (address + kPage - 1) / kPage * kPage;
  const std::uintptr_t end = (address + bytes) / kPage * kPage;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace mote::detail
