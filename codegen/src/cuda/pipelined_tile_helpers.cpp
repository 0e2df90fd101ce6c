// SPDX-License-Identifier: Apache-2.0
// Holds the functions that kernels of pipelined tiles call, as CUDA C++.
#include <initializer_list>
#include <string>
#include <string_view>

#include "tile_helpers.h"

namespace mote::emit {

namespace {

constexpr std::string_view kPipelinedTypes =
    R"(/* The first element, the strides along the tile and along the sum, and the tile's extent: its
 * positions. */
template <typename T>
struct mote_pipelined_operand {
  const T *at;
  int64_t across;
  int64_t along;
  int64_t locations;
};
)";

constexpr std::string_view kPipelinedStageNarrow =
    R"(/* Returns true if the elements of a position are neighbours; else those of an iteration are. If
 * both strides are 1 there is one iteration, and positions begin anywhere. */
static __device__ __forceinline__ bool mote_pipelined_along(
    const mote_pipelined_operand<uint16_t> &o) {
  return o.across != 1;
}
/* Copies a slice of 32 iterations of an operand. 8 elements are neighbours: of one position, or of
 * one iteration. Their 16 bytes rotate within a row from row to row, so that eight rows are in all
 * banks. Beyond the positions and the depth it stores zeros. */
template <bool Along>
static __device__ __forceinline__ void mote_pipelined_stage_vectors(
    uint16_t *to, const mote_pipelined_operand<uint16_t> &o, int64_t k_begin, int64_t depth) {
  const int location = Along ? threadIdx.x / 4 : threadIdx.x % 16 * 8;
  const int slot = Along ? threadIdx.x % 4 * 8 : threadIdx.x / 16;
  const int64_t k = k_begin + slot;
  const uint16_t *const from =
      Along ? o.at + location * o.across + k : o.at + location + k * o.along;
  const int64_t apart = Along ? 32 * o.across : 8 * o.along;
  to += Along ? location * 32 + (slot / 8 ^ location / 2 % 4) * 8
              : slot * 128 + (location / 8 ^ slot) * 8;
  if (k_begin + 32 <= depth && o.locations >= 128) {
#pragma unroll
    for (int part = 0; part < 4; part++) mote_copy_16(to + part * 1024, from + part * apart, 16);
    return;
  }
#pragma unroll 1
  for (int part = 0; part < 4; part++) {
    const int64_t room = Along ? (location + 32 * part < o.locations ? depth - k : 0)
                               : (k + 8 * part < depth ? o.locations - location : 0);
    const int count = room < 0 ? 0 : room < 8 ? (int)room : 8;
    mote_copy_16(to + part * 1024, count > 0 ? from + part * apart : o.at, 2 * count);
  }
}
static __device__ __forceinline__ void mote_pipelined_stage(
    uint16_t *to, const mote_pipelined_operand<uint16_t> &o, int64_t k_begin, int64_t depth) {
  if (mote_pipelined_along(o))
    mote_pipelined_stage_vectors<true>(to, o, k_begin, depth);
  else
    mote_pipelined_stage_vectors<false>(to, o, k_begin, depth);
}
)";

constexpr std::string_view kPipelinedStageFloat =
    R"(/* Returns the location of an element in a slice of 16 iterations. Four neighbouring positions stay
 * together; the fours rotate from iteration to iteration, so that stores of several are in other
 * banks. */
static __device__ __forceinline__ int mote_pipelined_at(int location, int k) {
  return k * 128 + (location / 4 ^ k % 8) * 4 + location % 4;
}
/* Copies a slice of an operand whose positions or iterations are neighbours, or with any strides.
 * Beyond the positions and the depth it stores zeros. */
static __device__ __forceinline__ void mote_pipelined_stage_vectors(
    float *to, const mote_pipelined_operand<float> &o, int64_t k_begin, int64_t depth) {
  const int location = threadIdx.x % 32 * 4;
  const int slot = threadIdx.x / 32;
  const float *const from = o.at + location + (k_begin + slot) * o.along;
  const int64_t apart = 4 * o.along;
  if (k_begin + 16 <= depth && o.locations >= 128) {
#pragma unroll
    for (int part = 0; part < 4; part++)
      mote_copy_16(to + mote_pipelined_at(location, slot + 4 * part), from + part * apart, 16);
    return;
  }
#pragma unroll 1
  for (int part = 0; part < 4; part++) {
    const int64_t room = k_begin + slot + 4 * part < depth ? o.locations - location : 0;
    const int count = room < 0 ? 0 : room < 4 ? (int)room : 4;
    mote_copy_16(to + mote_pipelined_at(location, slot + 4 * part),
                 count > 0 ? from + part * apart : o.at, 4 * count);
  }
}
template <bool Along>
static __device__ __forceinline__ void mote_pipelined_stage_elements(
    float *to, const mote_pipelined_operand<float> &o, int64_t k_begin, int64_t depth) {
  const int location = Along ? threadIdx.x / 16 : threadIdx.x;
  const int slot = Along ? threadIdx.x % 16 : 0;
  const float *const from = o.at + location * o.across + (k_begin + slot) * o.along;
  const int64_t apart = Along ? 8 * o.across : o.along;
  if (k_begin + 16 <= depth && o.locations >= 128) {
#pragma unroll
    for (int part = 0; part < 16; part++)
      mote_copy_4(to + (Along ? mote_pipelined_at(location + 8 * part, slot)
                              : mote_pipelined_at(location, part)),
                  from + part * apart, 4);
    return;
  }
#pragma unroll 1
  for (int part = 0; part < 16; part++) {
    const int p = Along ? location + 8 * part : location;
    const int k = Along ? slot : part;
    const bool is_there = p < o.locations && k_begin + k < depth;
    mote_copy_4(to + mote_pipelined_at(p, k), is_there ? from + part * apart : o.at,
                is_there ? 4 : 0);
  }
}
static __device__ __forceinline__ void mote_pipelined_stage(float *to,
                                                            const mote_pipelined_operand<float> &o,
                                                            int64_t k_begin, int64_t depth) {
  if (o.across == 1 && o.along % 4 == 0 && mote_is_aligned(o.at))
    mote_pipelined_stage_vectors(to, o, k_begin, depth);
  else if (o.along == 1)
    mote_pipelined_stage_elements<true>(to, o, k_begin, depth);
  else
    mote_pipelined_stage_elements<false>(to, o, k_begin, depth);
}
)";

constexpr std::string_view kPipelinedFragments =
    R"(/* Loads four matrices of 8 positions and 8 iterations; each lane gives the position and the
 * iteration at which its row begins, less its own number in the matrix. */
template <bool Along>
static __device__ __forceinline__ void mote_pipelined_fragments(uint32_t (&d)[4],
                                                                const uint16_t *slice, int location,
                                                                int k) {
  const int row = threadIdx.x % 8;
  if (Along)
    mote_load_fragments(d, slice + (location + row) * 32 + (k / 8 ^ row / 2) * 8);
  else
    mote_load_fragments_transposed(d, slice + (k + row) * 128 + (location / 8 ^ row) * 8);
}
)";

/// @ stands for f16 or bf16.
constexpr std::string_view kPipelinedMultiply =
    R"(/* Adds left * right of a slice; each of 4 warps has 64 x 64 of 128 x 128 sums, as 4 x 8 fragments.
 */
template <bool LeftAlong, bool RightAlong>
static __device__ __forceinline__ void mote_pipelined_multiply_@(
    float (&sums)[4][8][4], const uint16_t (*staged)[4096]) {
  const int row = threadIdx.x / 64 * 64;
  const int column = threadIdx.x / 32 % 2 * 64;
  const int near = threadIdx.x / 8 % 2 * 8;
  const int far = threadIdx.x / 16 % 2 * 8;
#pragma unroll
  for (int k = 0; k < 32; k += 16) {
    uint32_t b[8][2];
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      uint32_t two[4];
      mote_pipelined_fragments<RightAlong>(two, staged[1], column + 8 * j + far, k + near);
      b[j][0] = two[0];
      b[j][1] = two[1];
      b[j + 1][0] = two[2];
      b[j + 1][1] = two[3];
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
      uint32_t a[4];
      mote_pipelined_fragments<LeftAlong>(a, staged[0], row + 16 * i + near, k + far);
#pragma unroll
      for (int j = 0; j < 8; j++) mote_mma_m16n8k16_@(sums[i][j], a, b[j]);
    }
  }
}
static __device__ __forceinline__ void mote_pipelined_multiply_@(
    float (&sums)[4][8][4], const uint16_t (*staged)[4096],
    const mote_pipelined_operand<uint16_t> &left, const mote_pipelined_operand<uint16_t> &right) {
  if (mote_pipelined_along(left) && mote_pipelined_along(right))
    mote_pipelined_multiply_@<true, true>(sums, staged);
  else if (mote_pipelined_along(left))
    mote_pipelined_multiply_@<true, false>(sums, staged);
  else if (mote_pipelined_along(right))
    mote_pipelined_multiply_@<false, true>(sums, staged);
  else
    mote_pipelined_multiply_@<false, false>(sums, staged);
}
)";

constexpr std::string_view kPipelinedMultiplyFloat =
    R"(/* Adds left * right of a slice; each of 128 threads has 16 x 8 of 128 x 128 sums, in fours. */
static __device__ __forceinline__ void mote_pipelined_multiply_f32(float (&sums)[16][8],
                                                                   const float (*staged)[2048]) {
  const int row = threadIdx.x / 16;
  const int column = threadIdx.x % 16;
#pragma unroll 4
  for (int k = 0; k < 16; k++) {
    mote_vector<float> left[4], right[2];
#pragma unroll
    for (int i = 0; i < 4; i++)
      left[i] = *(const mote_vector<float> *)&staged[0][mote_pipelined_at(4 * row, k) + 32 * i];
#pragma unroll
    for (int j = 0; j < 2; j++)
      right[j] = *(const mote_vector<float> *)&staged[1][mote_pipelined_at(4 * column, k) + 64 * j];
#pragma unroll
    for (int i = 0; i < 16; i++) {
#pragma unroll
      for (int j = 0; j < 8; j++) sums[i][j] += left[i / 4].of[i % 4] * right[j / 4].of[j % 4];
    }
  }
}
)";

constexpr std::string_view kPipelinedGive =
    R"(/* Stores the sums of the first or second 64 rows in shared memory. */
static __device__ __forceinline__ void mote_pipelined_give(const float (&sums)[4][8][4],
                                                           float (*to)[132], int half) {
  if (threadIdx.x / 64 != half) return;
  const int row = threadIdx.x % 32 / 4;
  const int column = threadIdx.x / 32 % 2 * 64 + threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < 128; i++)
    to[i / 32 * 16 + i / 2 % 2 * 8 + row][column + i / 4 % 8 * 8 + i % 2] =
        sums[i / 32][i / 4 % 8][i % 4];
}
static __device__ __forceinline__ void mote_pipelined_give(const float (&sums)[16][8],
                                                           float (*to)[132], int half) {
  const int row = threadIdx.x / 16 * 4;
  const int column = threadIdx.x % 16 * 4;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    if (i / 8 != half) continue;
#pragma unroll
    for (int j = 0; j < 8; j++)
      to[i / 4 % 2 * 32 + row + i % 4][j / 4 * 64 + column + j % 4] = sums[i][j];
  }
}
)";

}  // namespace

std::string pipelined_tile_helpers(const std::set<std::string>& names) {
  const bool has_narrow = names.contains("mote_pipelined_operand<uint16_t>");
  const bool has_float = names.contains("mote_pipelined_operand<float>");
  if (!has_narrow && !has_float) return "";
  std::string out;
  const auto add = [&](std::string_view helper) { out += "\n" + std::string(helper); };
  add(kPipelinedTypes);
  if (has_narrow) {
    add(kPipelinedStageNarrow);
    add(kPipelinedFragments);
  }
  for (const std::string dtype : {"f16", "bf16"})
    if (names.contains("mote_pipelined_multiply_" + dtype))
      add(of_dtype(kPipelinedMultiply, dtype));
  if (has_float) {
    add(kPipelinedStageFloat);
    add(kPipelinedMultiplyFloat);
  }
  add(kPipelinedGive);
  return out;
}

}  // namespace mote::emit
