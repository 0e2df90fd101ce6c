// SPDX-License-Identifier: Apache-2.0
// The helpers of gen kernels that add products of integers in pairs. They stand only in texts that
// call them, since the header of the processor's instructions is long.
#include <array>

#include "c/helpers.h"

namespace mote::emit {
namespace {

constexpr std::array kPairHelpers = std::to_array<Helper>({
    {.name = "mote_pair",
     .head = R"(#ifdef __SSE2__
#include <immintrin.h>
#endif

/* Two adjacent integers of 16 bits. */
)",
     .function = R"(int32_t mote_pair(const int16_t *first) {
  int32_t pair;
  memcpy(&pair, first, sizeof pair);
  return pair;
}
)"},
    {.name = "mote_add_pairs_8",
     .storage = Storage::none,
     .calls = {"mote_pair"},
     .head =
         R"(/* Each lane of the sum, and a0 b0 + a1 b1 for the pair a and the lane's pair in b. */
typedef int32_t mote_lanes_8 __attribute__((vector_size(8)));
)",
     .function =
         R"(static inline mote_lanes_8 mote_add_pairs_8(mote_lanes_8 sum, int32_t a, mote_lanes_8 b) {
  const mote_lanes_8 all = (mote_lanes_8){0} + a;
  return sum + (all >> 16) * (b >> 16) + (all << 16 >> 16) * (b << 16 >> 16);
}
)"},
    {.name = "mote_add_pairs_16",
     .storage = Storage::none,
     .calls = {"mote_pair"},
     .head = R"(typedef int32_t mote_lanes_16 __attribute__((vector_size(16)));
)",
     .function =
         R"(static inline mote_lanes_16 mote_add_pairs_16(mote_lanes_16 sum, int32_t a, mote_lanes_16 b) {
  const mote_lanes_16 all = (mote_lanes_16){0} + a;
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
  return (mote_lanes_16)_mm_dpwssd_epi32((__m128i)sum, (__m128i)all, (__m128i)b);
#elif defined(__SSE2__)
  return sum + (mote_lanes_16)_mm_madd_epi16((__m128i)all, (__m128i)b);
#else
  return sum + (all >> 16) * (b >> 16) + (all << 16 >> 16) * (b << 16 >> 16);
#endif
}
)"},
    {.name = "mote_add_pairs_32",
     .storage = Storage::none,
     .calls = {"mote_pair"},
     .head = R"(#if MOTE_VECTOR_BYTES >= 32
typedef int32_t mote_lanes_32 __attribute__((vector_size(32)));
)",
     .function =
         R"(static inline mote_lanes_32 mote_add_pairs_32(mote_lanes_32 sum, int32_t a, mote_lanes_32 b) {
  const mote_lanes_32 all = (mote_lanes_32){0} + a;
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
  return (mote_lanes_32)_mm256_dpwssd_epi32((__m256i)sum, (__m256i)all, (__m256i)b);
#elif defined(__AVX2__)
  return sum + (mote_lanes_32)_mm256_madd_epi16((__m256i)all, (__m256i)b);
#else
  return sum + (all >> 16) * (b >> 16) + (all << 16 >> 16) * (b << 16 >> 16);
#endif
}
#endif
)"},
    {.name = "mote_add_pairs_64",
     .storage = Storage::none,
     .calls = {"mote_pair"},
     .head = R"(#if MOTE_VECTOR_BYTES >= 64
typedef int32_t mote_lanes_64 __attribute__((vector_size(64)));
)",
     .function =
         R"(static inline mote_lanes_64 mote_add_pairs_64(mote_lanes_64 sum, int32_t a, mote_lanes_64 b) {
  const mote_lanes_64 all = (mote_lanes_64){0} + a;
#if defined(__AVX512VNNI__)
  return (mote_lanes_64)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)all, (__m512i)b);
#elif defined(__AVX512BW__)
  return sum + (mote_lanes_64)_mm512_madd_epi16((__m512i)all, (__m512i)b);
#else
  return sum + (all >> 16) * (b >> 16) + (all << 16 >> 16) * (b << 16 >> 16);
#endif
}
#endif
)"},
});

}  // namespace

std::span<const Helper> pair_helpers() { return kPairHelpers; }

}  // namespace mote::emit
