// SPDX-License-Identifier: Apache-2.0
/* XNNPACK (2022-02-16): a transposed convolution whose result is smaller than its stride writes
 * beyond a buffer that XNNPACK allocated itself.
 *
 *   cc xnnpack_deconvolution_overflow.c -lXNNPACK && ./a.out
 *
 * According to xnnpack.h (xnn_define_deconvolution_2d) pads are "implicit zero-padding", and
 * no "output_padding" is given: one element x[0], a kernel of 3, stride 3 and 2 columns less on the
 * right leave y = x[0] w[0]. The allocator here, which xnn_initialize takes, ends each block at an
 * inaccessible page. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xnnpack.h>

static void* allocate_aligned(void* context, size_t alignment, size_t size) {
  (void)context;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t pages = (size + page - 1) / page + 1;
  char* memory =
      mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory + pages * page, page, PROT_NONE);
  const uintptr_t last = (uintptr_t)(memory + pages * page - size);
  return (void*)(last - last % alignment);
}
static void* allocate(void* context, size_t size) {
  return allocate_aligned(context, sizeof(void*), size);
}
static void* reallocate(void* context, void* block, size_t size) {
  (void)block; /* growing buffers are filled again */
  return allocate(context, size);
}
static void release(void* context, void* block) { (void)context, (void)block; }

static void report(int signal) {
  static const char text[] = "writes beyond a block of its own, while the operator is set up\n";
  (void)signal;
  if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) _exit(2);
  _exit(1);
}

int main(void) {
  const struct xnn_allocator allocator = {NULL,    allocate,         reallocate,
                                          release, allocate_aligned, release};
  static float w[3] = {5, 6, 7}, x[8] = {2}, y[8];
  xnn_operator_t op = NULL;
  signal(SIGSEGV, report);
  xnn_initialize(&allocator);
  xnn_create_deconvolution2d_nhwc_f32(0, 2, 0, 0, 1, 3, 1, 3, 1, 1, 1, 1, 1, 1, 1, w, NULL,
                                      -INFINITY, INFINITY, 0, &op);
  xnn_setup_deconvolution2d_nhwc_f32(op, 1, 1, 1, 0, 0, x, y, NULL);
  xnn_run_operator(op, NULL);
  printf("y is %g, expected 10\n", y[0]);
  return 0;
}
