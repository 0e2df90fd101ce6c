// SPDX-License-Identifier: Apache-2.0
/* BLIS 0.9.0: sgemm reads memory that belongs to none of its matrices.
 * cc blis_sgemm_reads_beyond.c -I/usr/include/x86_64-linux-gnu/blis-openmp -lblis -lm && ./a.out
 * According to docs/BLISTypedAPI.md the call reads A (m x k), B (k x n) and, if beta is not 0, C
 * (m x n), at their strides. Here the page after the last element of one of them is
 * inaccessible. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <blis.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf before;
static void* touched;

static void note(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  touched = info->si_addr;
  siglongjmp(before, 1);
}

/* Returns `count` floats that end where an inaccessible page begins. */
static float* at_the_end(size_t count) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t pages = (count * sizeof(float) + page - 1) / page;
  char* memory =
      mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory + pages * page, page, PROT_NONE);
  return (float*)(void*)(memory + pages * page) - count;
}

/* Multiplies row-major matrices; the matrix named `guarded` ends at the inaccessible page.
 * Returns 1 if it is overrun. */
static int shows(dim_t m, dim_t n, dim_t k, float beta, char guarded) {
  const size_t sizes[] = {(size_t)(m * k), (size_t)(k * n), (size_t)(m * n)};
  float* matrices[3];
  for (int i = 0; i < 3; ++i)
    matrices[i] = "ABC"[i] == guarded ? at_the_end(sizes[i]) : calloc(sizes[i] + 64, sizeof(float));
  float one = 1;
  if (sigsetjmp(before, 1) == 0) {
    bli_sgemm(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, matrices[0], k, 1, matrices[1],
              n, 1, &beta, matrices[2], n, 1);
    printf("m %d n %d k %d beta %g: %c is not overrun\n", (int)m, (int)n, (int)k, beta, guarded);
    return 0;
  }
  const float* end = matrices[guarded - 'A'] + sizes[guarded - 'A'];
  printf("m %d n %d k %d beta %g: accesses byte %ld after the end of %c\n", (int)m, (int)n, (int)k,
         beta, (long)((char*)touched - (const char*)end), guarded);
  return 1;
}

int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = note;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, NULL);
  printf("BLIS %s, %s\n", bli_info_get_version_str(), bli_arch_string(bli_arch_query_id()));
  int shown = shows(16, 1, 2, 0, 'B');
  shown += shows(1, 2, 1, 1, 'C');
  shown += shows(1, 2, 513, 0, 'C'); /* beta is 0, but K is summed in two parts */
  return shown > 0;
}
