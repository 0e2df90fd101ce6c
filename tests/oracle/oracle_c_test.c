// SPDX-License-Identifier: Apache-2.0
/* The oracle from plain C: oracle_c_test FOLDER, where FOLDER has the planted bugs. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mote/oracle/oracle.h"

int my_layer_norm(const float* x, const int64_t sx[2], const float* gamma, const int64_t sgamma[1],
                  const float* beta, const int64_t sbeta[1], float* y, const int64_t sy[2],
                  int64_t R, int64_t N, double eps);

static int failures = 0;

static void expect(const char* what, mote_status got, mote_status expected, char* report,
                   const char* part) {
  const char* text = report == NULL ? "" : report;
  if (got != expected || strstr(text, part) == NULL) {
    printf("%s: expected status %d and '%s', got %d and '%s'\n", what, (int)expected, part,
           (int)got, text);
    ++failures;
  }
  mote_check_free(report);
}

static int does_nothing(const float* x, const int64_t* sx, float* y, const int64_t* sy, int64_t I,
                        int64_t J, int64_t K, int64_t L) {
  (void)x, (void)sx, (void)y, (void)sy, (void)I, (void)J, (void)K, (void)L;
  return 0;
}

/* Adds the terms alternately from the first and from the last. */
static int sum_in_turns(const float* x, const int64_t* sx, float* y, const int64_t* sy, int64_t R,
                        int64_t N, int64_t C) {
  static int is_forward = 0;
  is_forward = !is_forward;
  for (int64_t r = 0; r < R; ++r)
    for (int64_t c = 0; c < C; ++c) {
      float sum = 0;
      for (int64_t k = 0; k < N; ++k)
        sum += x[r * sx[0] + (is_forward ? k : N - 1 - k) * sx[1] + c * sx[2]];
      y[r * sy[0] + c * sy[1]] = sum;
    }
  return 0;
}

int main(int argc, char** argv) {
  char path[4096];
  char* report = NULL;
  mote_check_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.row_major = 1;
  options.count = 100;
  options.seed = 1;
  if (argc != 2) return 2;

  mote_status s =
      mote_check_function("layer_norm", (mote_function)my_layer_norm, &options, &report);
  expect("a right function", s, MOTE_OK, report, "passed: ");
  s = mote_check_function("sqrt", (mote_function)does_nothing, &options, &report);
  expect("a wrong one", s, MOTE_FAILED, report, "unwritten: sqrt on function");
  options.name = "lazy_root";
  s = mote_check_function("sqrt", (mote_function)does_nothing, &options, &report);
  expect("one with a name", s, MOTE_FAILED, report, "unwritten: sqrt on lazy_root");
  setenv("MOTE_REPLAY", "sqrt x=f32[1,1,1,2] fill=index:0 backend=lazy_root", 1);
  s = mote_check_function("sqrt", (mote_function)does_nothing, &options, &report);
  expect("one case of it", s, MOTE_FAILED, report,
         "replay: MOTE_REPLAY='sqrt x=f32[1,1,1,2] fill=index:0 backend=lazy_root' ");
  options.name = NULL;
  s = mote_check_function("sqrt", (mote_function)does_nothing, &options, &report);
  expect("another function's case", s, MOTE_OK, report, "not judged: ");
  unsetenv("MOTE_REPLAY");
  options.row_major = 0;
  s = mote_check_function("sum", (mote_function)sum_in_turns, &options, &report);
  expect("one that rounds equal calls otherwise", s, MOTE_FAILED, report, "sum on function");
  options.nondeterministic = 1;
  s = mote_check_function("sum", (mote_function)sum_in_turns, &options, &report);
  expect("one that says so", s, MOTE_OK, report, "");
  options.nondeterministic = 0;
  options.row_major = 1;
  s = mote_check_function("sqrt", (mote_function)does_nothing, &options, NULL);
  expect("a call without a report", s, MOTE_FAILED, NULL, "");
  snprintf(path, sizeof path, "%s/gemm_k_tail.so", argv[1]);
  s = mote_check_library(path, "gemm", &options, &report);
  expect("a library with a bug", s, MOTE_FAILED, report, "gemm on gemm_k_tail");
  s = mote_check_library(path, "softmax", &options, &report);
  expect("a library without the op", s, MOTE_UNSUPPORTED, report, "no case was judged");

  s = mote_check_function(NULL, (mote_function)does_nothing, NULL, &report);
  expect("no op", s, MOTE_INVALID, report, "op: got NULL");
  s = mote_check_function("sqrt", NULL, NULL, &report);
  expect("no function", s, MOTE_INVALID, report, "function: got NULL");
  s = mote_check_function("sqt", (mote_function)does_nothing, NULL, &report);
  expect("an unknown op", s, MOTE_INVALID, report, "did you mean sqrt");
  s = mote_check_library(NULL, "gemm", NULL, &report);
  expect("no library", s, MOTE_INVALID, report, "library: got NULL");
  s = mote_check_library("/nowhere.so", "gemm", NULL, &report);
  expect("a library that is not there", s, MOTE_INVALID, report, "/nowhere.so");
  options.dtype = "f33";
  s = mote_check_function("sqrt", (mote_function)does_nothing, &options, &report);
  expect("an unknown dtype", s, MOTE_INVALID, report, "f33");
  options.dtype = NULL;
  options.count = -1;
  s = mote_check_function("sqrt", (mote_function)does_nothing, &options, &report);
  expect("a negative count", s, MOTE_INVALID, report, "count");
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
