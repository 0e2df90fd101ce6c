// SPDX-License-Identifier: Apache-2.0
/* y = sqrt(x) as `mote emit sqrt` writes it; the programs of the component oracle check it. */
#ifndef SQUARE_ROOT_H
#define SQUARE_ROOT_H

#include <math.h>
#include <stdint.h>

static int square_root(const float* x, const int64_t* sx, float* y, const int64_t* sy, int64_t I,
                       int64_t J, int64_t K, int64_t L) {
  for (int64_t i = 0; i < I; i++)
    for (int64_t j = 0; j < J; j++)
      for (int64_t k = 0; k < K; k++)
        for (int64_t l = 0; l < L; l++)
          y[i * sy[0] + j * sy[1] + k * sy[2] + l * sy[3]] =
              sqrtf(x[i * sx[0] + j * sx[1] + k * sx[2] + l * sx[3]]);
  return 0;
}

#endif
