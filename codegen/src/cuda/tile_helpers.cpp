// The functions that kernels of tiles call, as CUDA C++.
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "tile_text.h"

namespace mote::emit {

namespace {

constexpr std::string_view kMultiply =
    R"(/* sums += left * right of a slice, where both hold. Of 64 x 64 sums each of 128 threads has 8 x 4. */
template <typename T>
static __device__ __forceinline__ void mote_tile_multiply(
    T (&sums)[8][4], const T (*left)[68], const T (*right)[68],
    const bool (*left_holds)[68] = NULL, const bool (*right_holds)[68] = NULL) {
  const int row = threadIdx.x / 16 * 8;
  const int column = threadIdx.x % 16 * 4;
#pragma unroll 4
  for (int k = 0; k < 16; k++) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
#pragma unroll
      for (int j = 0; j < 4; j++) {
        if ((left_holds == NULL || left_holds[k][row + i]) &&
            (right_holds == NULL || right_holds[k][column + j]))
          sums[i][j] += left[k][row + i] * right[k][column + j];
      }
    }
  }
}
)";

constexpr std::string_view kGive =
    R"(/* The sums of the first or second 32 rows, to shared memory. */
template <typename T>
static __device__ __forceinline__ void mote_tile_give(const T (&sums)[8][4], T (*to)[16][68],
                                                      int half) {
  const int row = threadIdx.x / 16 * 8;
  const int column = threadIdx.x % 16 * 4;
  if (row / 32 != half) return;
#pragma unroll
  for (int i = 0; i < 8; i++) {
#pragma unroll
    for (int j = 0; j < 4; j++) to[row / 16 % 2][row % 16 + i][column + j] = sums[i][j];
  }
}
)";

constexpr std::string_view kDistance =
    R"(MOTE_DEVICE int64_t mote_iabs(int64_t a) { return a < 0 ? -a : a; }
)";

}  // namespace

std::string tile_helpers(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kAll = {
      {{"mote_iabs(", kDistance}, {"mote_tile_multiply(", kMultiply}, {"mote_tile_give(", kGive}}};
  std::string out;
  for (const auto& [call, helper] : kAll)
    if (text.find(call) != std::string::npos) out += "\n" + std::string(helper);
  return out;
}

}  // namespace mote::emit
