// SPDX-License-Identifier: Apache-2.0
// Holds the functions that kernels of tiles call, as CUDA C++.
#include "tile_helpers.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace mote::emit {

namespace {

/// @ stands for f16 or bf16.
constexpr std::string_view kMultiplyNarrow =
    R"(/* Adds left * right of a slice by tensor cores: each of 4 warps has 32 x 32 of the 64 x 64 sums, as
 * 2 x 4 fragments. */
static __device__ __forceinline__ void mote_tile_multiply_@(
    float (&sums)[2][4][4], const uint16_t (*left)[24], const uint16_t (*right)[24]) {
  const int row = threadIdx.x / 64 * 32 + threadIdx.x % 32 / 4;
  const int column = threadIdx.x / 32 % 2 * 32 + threadIdx.x % 32 / 4;
  const int slot = threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const uint16_t (*const upper)[24] = left + row + 16 * i;
    const uint32_t a[4] = {mote_pair(upper[0] + slot), mote_pair(upper[8] + slot),
                           mote_pair(upper[0] + slot + 8), mote_pair(upper[8] + slot + 8)};
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const uint16_t *const k = right[column + 8 * j] + slot;
      const uint32_t b[2] = {mote_pair(k), mote_pair(k + 8)};
      mote_mma_m16n8k16_@(sums[i][j], a, b);
    }
  }
}
)";

constexpr std::string_view kMultiplyTf32 =
    R"(/* The same for f32 that was rounded to tf32, in two steps. */
static __device__ __forceinline__ void mote_tile_multiply_tf32(
    float (&sums)[2][4][4], const float (*left)[72], const float (*right)[72]) {
  const int row = threadIdx.x / 64 * 32 + threadIdx.x % 32 / 4;
  const int column = threadIdx.x / 32 % 2 * 32 + threadIdx.x % 32 / 4;
#pragma unroll
  for (int step = 0; step < 2; step++) {
    const float (*const l)[72] = left + 8 * step + threadIdx.x % 4;
    const float (*const r)[72] = right + 8 * step + threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int upper = row + 16 * i;
      const uint32_t a[4] = {mote_bits(l[0][upper]), mote_bits(l[0][upper + 8]),
                             mote_bits(l[4][upper]), mote_bits(l[4][upper + 8])};
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const uint32_t b[2] = {mote_bits(r[0][column + 8 * j]), mote_bits(r[4][column + 8 * j])};
        mote_mma_m16n8k8_tf32(sums[i][j], a, b);
      }
    }
  }
}
)";

/// STAGED(x) stands for the declaration of an operand staged as x, LEFT and RIGHT for elements.
constexpr std::string_view kMultiplyCounting =
    R"(/* The same one product at a time, without products that do not count: 0 times an infinity. */
static __device__ __forceinline__ void mote_tile_multiply_counting_@(
    float (&sums)[2][4][4], const STAGED(*left), const STAGED(*right),
    const bool (*left_holds)[68], const bool (*right_holds)[68]) {
  const int row = threadIdx.x / 64 * 32 + threadIdx.x % 32 / 4;
  const int column = threadIdx.x / 32 % 2 * 32 + threadIdx.x % 4 * 2;
#pragma unroll 1
  for (int k = 0; k < 16; k++) {
#pragma unroll
    for (int i = 0; i < 32; i++) {
      const int r = row + i / 16 * 16 + i / 2 % 2 * 8;
      const int c = column + i / 4 % 4 * 8 + i % 2;
      if ((left_holds == NULL || left_holds[k][r]) && (right_holds == NULL || right_holds[k][c]))
        sums[i / 16][i / 4 % 4][i % 4] += LEFT * RIGHT;
    }
  }
}
)";

/// TYPE, BITS and EXPONENT stand for an element, its bits and those of its exponent; SHARES for the
/// number of threads that look at a row.
constexpr std::string_view kMultiplyMasked =
    R"(/* Returns true for an infinity or NaN. */
MOTE_DEVICE bool mote_is_special_@(TYPE x) { return (BITS & EXPONENTu) == EXPONENTu; }
/* Returns true if one of the thread's elements of a slice is an infinity or NaN. */
static __device__ __forceinline__ bool mote_any_special_@(const STAGED(*slice)) {
  bool any = false;
#pragma unroll
  for (int k = 0; k < 8; k++)
    any = any || mote_is_special_@(slice[threadIdx.x / SHARES][threadIdx.x % SHARES * 8 + k]);
  return any;
}
/* The same by tensor cores, which multiply by 0 where a product does not count, unless the slice
 * holds an infinity or NaN. */
static __device__ __forceinline__ void mote_tile_multiply_masked_@(
    float (&sums)[2][4][4], const STAGED(*left), const STAGED(*right),
    const bool (*left_holds)[68], const bool (*right_holds)[68]) {
  if (__syncthreads_or(mote_any_special_@(left) || mote_any_special_@(right)))
    mote_tile_multiply_counting_@(sums, left, right, left_holds, right_holds);
  else
    mote_tile_multiply_@(sums, left, right);
}
)";

constexpr std::string_view kGiveFragments =
    R"(/* Stores the sums of the first or second 32 rows in shared memory. */
template <int Pitch>
static __device__ __forceinline__ void mote_tile_give_fragments(
    const float (&sums)[2][4][4], float (*to)[Pitch], int half) {
  if (threadIdx.x / 64 != half) return;
  const int row = threadIdx.x % 32 / 4;
  const int column = threadIdx.x / 32 % 2 * 32 + threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < 32; i++)
    to[i / 16 * 16 + i / 2 % 2 * 8 + row][column + i / 4 % 4 * 8 + i % 2] =
        sums[i / 16][i / 4 % 4][i % 4];
}
)";

constexpr std::string_view kStageVector =
    R"(/* Copies 16 bytes of neighbouring elements, rounded if wanted, to locations in shared memory that
 * are `apart` elements apart; zeros beyond `room` elements. */
template <typename T>
static __device__ __forceinline__ void mote_stage_vector(T *to, int apart, const T *from,
                                                         int64_t room, T (*rounded)(T) = NULL) {
  constexpr int kCount = 16 / sizeof(T);
  mote_vector<T> vector;
  if (room >= kCount) {
    vector = *(const mote_vector<T> *)from;
  } else {
#pragma unroll
    for (int k = 0; k < kCount; k++) vector.of[k] = k < room ? from[k] : (T)0;
  }
  if (rounded != NULL) {
#pragma unroll
    for (int k = 0; k < kCount; k++) vector.of[k] = rounded(vector.of[k]);
  }
  if (apart == 1) {
    *(mote_vector<T> *)to = vector;
  } else {
#pragma unroll
    for (int k = 0; k < kCount; k++) to[k * apart] = vector.of[k];
  }
}
)";

constexpr std::string_view kDistance =
    R"(MOTE_DEVICE int64_t mote_iabs(int64_t a) { return a < 0 ? -a : a; }
)";

std::string replaced(std::string text, std::string_view old, const std::string& by) {
  for (std::size_t at = text.find(old); at != std::string::npos;
       at = text.find(old, at + by.size()))
    text.replace(at, old.size(), by);
  return text;
}

/// Returns the helper with the words that stand for an operand of that dtype.
std::string of_operand(std::string_view helper, const std::string& dtype) {
  const bool is_tf32 = dtype == "tf32";
  const auto of = [&](const char* tf32, const char* narrow) { return is_tf32 ? tf32 : narrow; };
  std::string text(helper);
  for (const char* operand : {"left", "right", "slice"})
    text = replaced(text, fmt::format("STAGED(*{})", operand),
                    fmt::format("{} (*{})[{}]", of("float", "uint16_t"), operand, of("72", "24")));
  text = replaced(text, "LEFT", of("left[k][r]", "mote_float_from_@(left[r][k])"));
  text = replaced(text, "RIGHT", of("right[k][c]", "mote_float_from_@(right[c][k])"));
  text = replaced(text, "TYPE", of("float", "uint16_t"));
  text = replaced(text, "BITS", of("mote_bits(x)", "x"));
  text = replaced(text, "EXPONENT", of("0x7f800000", dtype == "f16" ? "0x7c00" : "0x7f80"));
  text = replaced(text, "SHARES", of("8", "2"));
  return of_dtype(text, dtype);
}

}  // namespace

std::string of_dtype(std::string_view helper, const std::string& dtype) {
  return replaced(std::string(helper), "@", dtype);
}

std::string tile_helpers(std::set<std::string>& names) {
  std::string out;
  const auto add = [&](const std::string& name, std::string_view text, const std::string& calls) {
    if (!names.contains(name)) return;
    out += "\n" + std::string(text);
    if (!calls.empty()) names.insert(calls);
  };
  add("mote_iabs", kDistance, "");
  add("mote_stage_vector", kStageVector, "");
  add("mote_tile_give_fragments", kGiveFragments, "");
  for (const std::string dtype : {"f16", "bf16", "tf32"}) {
    const bool is_tf32 = dtype == "tf32";
    const std::string masked = "mote_tile_multiply_masked_" + dtype;
    const std::string plain = "mote_tile_multiply_" + dtype;
    if (names.contains(masked)) names.insert(plain);
    add(plain, of_dtype(is_tf32 ? kMultiplyTf32 : kMultiplyNarrow, dtype),
        is_tf32 ? "mote_bits" : "");
    add(masked, of_operand(std::string(kMultiplyCounting) + std::string(kMultiplyMasked), dtype),
        is_tf32 ? "" : "mote_float_from_" + dtype);
  }
  return out;
}

}  // namespace mote::emit
