// SPDX-License-Identifier: Apache-2.0
/* A sum whose rows are a parallel loop of OpenMP. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdint.h>

static int threads = 0;

static int sum_rows(const float* x, const int64_t* sx, float* y, const int64_t* sy, int64_t R,
                    int64_t N, int64_t C, int64_t summed) {
  (void)N;
#pragma omp parallel num_threads(4)
  {
#pragma omp single
    threads = omp_get_num_threads();
#pragma omp for
    for (int64_t r = 0; r < R; ++r)
      for (int64_t c = 0; c < C; ++c) {
        float sum = 0;
        for (int64_t n = 0; n < summed; ++n) sum += x[r * sx[0] + n * sx[1] + c * sx[2]];
        y[r * sy[0] + c * sy[1]] = sum;
      }
  }
  return 0;
}

int openmp_sum(const float* x, const int64_t* sx, float* y, const int64_t* sy, int64_t R, int64_t N,
               int64_t C) {
  return sum_rows(x, sx, y, sy, R, N, C, N);
}

int openmp_sum_short(const float* x, const int64_t* sx, float* y, const int64_t* sy, int64_t R,
                     int64_t N, int64_t C) {
  return sum_rows(x, sx, y, sy, R, N, C, N - 1);
}

const char* openmp_runtime(void) {
  Dl_info info;
  return dladdr((void*)(uintptr_t)omp_get_max_threads, &info) != 0 ? info.dli_fname : "";
}

int openmp_threads(void) { return threads; }
