// SPDX-License-Identifier: Apache-2.0
// Multiplies four rows of u at a time, so that a row of v is read for four sums.
#include "multiply.h"

#include <array>

#define MOTE_JOIN2(a, b) a##b
#define MOTE_JOIN(a, b) MOTE_JOIN2(a, b)

namespace mote::winograd {
namespace {

template <std::size_t Rows>
void rows(const float* u, const float* v, float* m, std::size_t inputs) {
  std::array<std::array<float, kBlock>, Rows> sums{};
  for (std::size_t ci = 0; ci < inputs; ++ci)
    for (std::size_t r = 0; r < Rows; ++r) {
      const float factor = u[r * inputs + ci];
      for (std::size_t t = 0; t < kBlock; ++t) sums[r][t] += factor * v[ci * kBlock + t];
    }
  for (std::size_t r = 0; r < Rows; ++r)
    for (std::size_t t = 0; t < kBlock; ++t) m[r * kBlock + t] = sums[r][t];
}

}  // namespace

void MOTE_JOIN(multiply, MOTE_LEVEL)(const float* u, const float* v, float* m, std::size_t outputs,
                                     std::size_t inputs) {
  std::size_t co = 0;
  for (; co + 4 <= outputs; co += 4) rows<4>(u + co * inputs, v, m + co * kBlock, inputs);
  for (; co < outputs; ++co) rows<1>(u + co * inputs, v, m + co * kBlock, inputs);
}

}  // namespace mote::winograd
