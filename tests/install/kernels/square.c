// SPDX-License-Identifier: Apache-2.0
/* A handwritten square_of, which mote_add_check() proves against programs/square.mote. */
#include <stdint.h>

int my_square(const double* x, const int64_t sx[1], double* y, const int64_t sy[1], int64_t N) {
  for (int64_t n = 0; n < N; ++n) y[n * sy[0]] = x[n * sx[0]] * x[n * sx[0]];
  return 0;
}
