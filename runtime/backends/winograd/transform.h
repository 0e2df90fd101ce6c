// SPDX-License-Identifier: Apache-2.0
// The three transforms of F(4x4, 3x3) with the points 0, 1, -1, 2, -2 and infinity, along one axis;
// applied to columns, then to rows. Lavin and Gray, Fast Algorithms for Convolutional Neural
// Networks, 2016. The transform of kernels is multiplied by 24, so that its factors are integers.
#pragma once

#include <array>
#include <cstddef>

namespace mote::winograd {

constexpr std::size_t kTile = 6;     ///< rows and columns of x that a tile reads
constexpr std::size_t kOutputs = 4;  ///< rows and columns of y that it produces
constexpr std::size_t kKernel = 3;
constexpr std::size_t kProducts = kTile * kTile;

template <std::size_t R, std::size_t C>
using Square = std::array<std::array<float, C>, R>;

inline std::array<float, kTile> of_data(const std::array<float, kTile>& x) {
  const float even = x[4] - 4 * x[2], odd = x[3] - 4 * x[1];
  const float even2 = x[4] - x[2], odd2 = 2 * (x[3] - x[1]);
  return {4 * x[0] - 5 * x[2] + x[4], even + odd, even - odd, even2 + odd2, even2 - odd2,
          4 * x[1] - 5 * x[3] + x[5]};
}

/// Returns 24 times the transform.
inline std::array<float, kTile> of_kernel(const std::array<float, kKernel>& g) {
  const float outer = -4 * (g[0] + g[2]), inner = -4 * g[1];
  const float far = g[0] + 4 * g[2], mid = 2 * g[1];
  return {6 * g[0], outer + inner, outer - inner, far + mid, far - mid, 24 * g[2]};
}

inline std::array<float, kOutputs> to_output(const std::array<float, kTile>& m) {
  const float sum1 = m[1] + m[2], difference1 = m[1] - m[2];
  const float sum2 = m[3] + m[4], difference2 = m[3] - m[4];
  return {m[0] + sum1 + sum2, difference1 + 2 * difference2, sum1 + 4 * sum2,
          difference1 + 8 * difference2 + m[5]};
}

/// Applies the transform along both axes.
template <std::size_t To, std::size_t From, typename Along>
Square<To, To> both(const Square<From, From>& x, const Along& along) {
  Square<From, To> half{};  // the transforms of the columns of x
  for (std::size_t c = 0; c < From; ++c) {
    std::array<float, From> column{};
    for (std::size_t r = 0; r < From; ++r) column[r] = x[r][c];
    half[c] = along(column);
  }
  Square<To, To> all{};
  for (std::size_t r = 0; r < To; ++r) {
    std::array<float, From> row{};
    for (std::size_t c = 0; c < From; ++c) row[c] = half[c][r];
    all[r] = along(row);
  }
  return all;
}

}  // namespace mote::winograd
