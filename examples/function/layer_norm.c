// SPDX-License-Identifier: Apache-2.0
/* Layer normalisation in f32, written by hand: y = (x - mean) / sqrt(var + eps) * gamma + beta,
 * each row separately. The signature is the one that `mote emit layer_norm` prints. The elements of
 * a row must be adjacent (the test says ROW_MAJOR); gamma or beta is NULL if a call lacks it. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

int my_layer_norm(const float* x, const int64_t sx[2], const float* gamma,
                  const int64_t sgamma[1], const float* beta, const int64_t sbeta[1], float* y,
                  const int64_t sy[2], int64_t R, int64_t N, double eps) {
  for (int64_t r = 0; r < R; ++r) {
    const float* in = x + r * sx[0];
    float* out = y + r * sy[0];
    float sum = 0;
    for (int64_t n = 0; n < N; ++n) sum += in[n];
    const float mean = sum / (float)N;
    float squares = 0;
    for (int64_t n = 0; n < N; ++n) squares += (in[n] - mean) * (in[n] - mean);
    const float scale = 1 / sqrtf(squares / (float)N + (float)eps);
    for (int64_t n = 0; n < N; ++n) {
      const float by = gamma != NULL ? gamma[n * sgamma[0]] : 1;
      out[n] = (in[n] - mean) * scale * by + (beta != NULL ? beta[n * sbeta[0]] : 0);
    }
  }
  return 0;
}
