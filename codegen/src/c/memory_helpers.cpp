// SPDX-License-Identifier: Apache-2.0
// The helpers of gen kernels for memory of the host: one block for all temporaries of a call.
#include <array>

#include "c/helpers.h"

namespace mote::emit {
namespace {

constexpr std::array kMemoryHelpers = std::to_array<Helper>({
    {.name = "mote_place",
     .storage = Storage::called,
     .head =
         R"(/* Adds a row-major array to a block of that size, at a multiple of 64 bytes, and returns where it
 * begins. The size becomes SIZE_MAX if no block can be so large. 64 bytes before each array are free:
 * arrays of 4096 bytes do not meet in the sets of a cache, and the address sanitizer watches them. */
)",
     .function =
         R"(size_t mote_place(size_t *size, size_t element_size, int rank, const int64_t *extents) {
  size_t bytes = element_size;
  for (int k = 0; k < rank; k++) {
    if (extents[k] < 1) bytes = 0;
  }
  for (int k = 0; k < rank && bytes != 0; k++) {
    const int fits = (uint64_t)extents[k] <= (SIZE_MAX - 63) / bytes;
    bytes = fits ? bytes * (size_t)extents[k] : SIZE_MAX - 63;
  }
  bytes = (bytes + 63) / 64 * 64;
  *size = *size < SIZE_MAX - 64 ? *size + 64 : SIZE_MAX;
  const size_t begin = *size;
  *size = bytes < SIZE_MAX - begin ? begin + bytes : SIZE_MAX;
  return begin;
}
)"},
    {.name = "mote_alloc_block",
     .head = "/* A block of that size at a multiple of 64 bytes, or NULL. */\n",
     .function = R"(void *mote_alloc_block(size_t size) {
  return size == SIZE_MAX ? NULL : aligned_alloc(64, size);
}
)"},
    {.name = "mote_array",
     .head = "#ifdef __SANITIZE_ADDRESS__\n"
             "void __asan_poison_memory_region(void const volatile *, size_t);\n"
             "#endif\n"
             "/* The array of a block that begins there. */\n",
     .function = R"(void *mote_array(void *block, size_t begin) {
#ifdef __SANITIZE_ADDRESS__
  __asan_poison_memory_region((char *)block + begin - 64, 64);
#endif
  return (char *)block + begin;
}
)"},
});

}  // namespace

std::span<const Helper> memory_helpers() { return kMemoryHelpers; }

}  // namespace mote::emit
