// SPDX-License-Identifier: Apache-2.0
/* Defines the C ABI of kernels and backends, version 1 (C99). A shared library offers backends
 * through mote_plugin_init; generated kernels and mote's own backends use the same structs. Every
 * struct begins with its size, so that later versions can append members: a reader looks at no
 * member beyond the size that it was given. Tensors cross as DLPack's DLTensor; strides are in
 * elements, NULL means row-major. Integers are 64-bit. Nothing here throws or aborts; a host treats
 * an exception that reaches it nevertheless as MOTE_FAILED. The functions of a kernel are called
 * from several threads at once. */
#ifndef MOTE_BASE_KERNEL_H
#define MOTE_BASE_KERNEL_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOTE_ABI_VERSION 1
#define MOTE_PLUGIN_EXPORT __attribute__((visibility("default")))

/* DLPack 0.6 has no code for booleans; later versions use this one. */
#define MOTE_DL_BOOL 6U

typedef enum mote_status {
  MOTE_OK = 0,
  MOTE_INVALID = 1,     /* the call is not legal for the op: shapes, dtypes, parameters */
  MOTE_UNSUPPORTED = 2, /* legal, but this kernel declines it */
  MOTE_OUT_OF_MEMORY = 3,
  MOTE_FAILED = 4 /* any other failure inside the kernel */
} mote_status;

/* A parameter of the op, by name: is_real says which member holds it. */
typedef struct mote_param {
  const char* name;
  int32_t is_real;
  int64_t integer;
  double real;
} mote_param;

/* One execution of an op. Optional tensors that are absent are NULL, but at least one output is
 * present. An input of which those outputs need only the shape (a gradient often does) may have
 * NULL data. */
typedef struct mote_call {
  size_t size; /* sizeof(mote_call) */
  const char* op;
  int32_t input_count;
  int32_t output_count;
  int32_t param_count;
  int32_t reserved;
  const DLTensor* const* inputs;
  DLTensor* const* outputs;
  const mote_param* params;
  void* workspace;
  size_t workspace_bytes;
  char* message; /* where a kernel writes why it declined or failed; may be NULL */
  size_t message_bytes;
} mote_call;

/* The format in which a kernel accumulates reals: sums, products over an axis, scatters that add or
 * multiply. Integers are accumulated in 64 bits or in their dtype, wrapping, in any case. */
typedef enum mote_accumulator {
  MOTE_ACC_NATIVE = 0, /* the dtype of the inputs; for 16 bits all other arithmetic is in it too */
  MOTE_ACC_F32 = 1,    /* f64 is converted to f32 before it is accumulated */
  MOTE_ACC_F64 = 2
} mote_accumulator;

/* Flags that say which values of indices a kernel assumes. */
typedef enum mote_indices {
  MOTE_INDICES_ANY = 0,
  MOTE_INDICES_VALID = 1,       /* within the axis, or a value to which the op gives another
                                   meaning: counted from the end, ignored */
  MOTE_INDICES_NOT_NEGATIVE = 2 /* none is below 0 */
} mote_indices;

/* The accuracy of a function f that a kernel computes, in units of the kernel's own format, whose
 * roundoff is u: |computed - f(x')| <= ulp * ulps of the result + abs, for some x' with |x' - x| <=
 * arg u |x|. */
typedef struct mote_accuracy {
  const char* function; /* its name in program text: "exp" */
  double ulp;           /* none of the three is negative */
  double arg;
  double abs;
} mote_accuracy;

/* Output `output` is stored where input `input` is: the same view of the same memory. */
typedef struct mote_op_pair {
  int32_t input;
  int32_t output;
} mote_op_pair;

/* A value in place of a count of pairs: every pair that the op's definition allows. */
#define MOTE_IN_PLACE_ALL (-1)

/* The promises of a kernel about its numbers and its memory. The oracle judges the kernel by them,
 * and the runtime relies on nothing else. Members beyond size promise nothing. */
typedef struct mote_contract {
  size_t size;
  int32_t accumulator; /* mote_accumulator */
  /* The significant bits that operands of a multiplication that feeds a sum keep (tf32: 11, bf16:
   * 8); 0: they are used as they are. */
  int32_t multiply_rounding;
  int32_t flushes_denormals; /* 0 or 1: operands and results below the least normal number may
                                become 0 */
  int32_t deterministic;     /* 0 or 1: equal calls give equal bits */
  /* The formula that is computed: "direct" (the op's definition), "padding_multiplied" (taps
   * outside the data are zeros that are multiplied), or an alternative body of the op by its name.
   */
  const char* form;
  /* The functions that are not the C library's; absent if size ends before. */
  int32_t function_count;
  /* The pairs that may share memory in one call, any of them together; 0: none. */
  int32_t in_place_count;
  const mote_accuracy* functions;
  const mote_op_pair* in_place; /* NULL if the count is not positive */
  /* 0 or 1: if an input is NaN or infinite, the outputs that depend on it may be anything, for
   * example in a maximum whose instruction drops NaN, or that starts at the least number. Absent
   * (0) if size ends before. */
  int32_t ignores_nan;
  int32_t reserved;
  /* mote_indices: the kernel is for such indices only. Absent (0) if size ends before. */
  int32_t indices;
  int32_t reserved_end;
} mote_contract;

/* One kernel: an op for some dtypes, layouts and shapes. */
typedef struct mote_kernel {
  size_t size;
  const char* op;
  const mote_contract* contract;
  /* Returns MOTE_OK; or MOTE_UNSUPPORTED (also for tensors of a device that it does not know) or
   * MOTE_INVALID, with the reason in call->message. No data is read. */
  mote_status (*can_run)(const mote_call* call);
  /* Returns the bytes of workspace that run needs; NULL: none. The workspace is aligned to 64
   * bytes. It is called only for a call that can_run accepted; no data is read. */
  size_t (*workspace_bytes)(const mote_call* call);
  /* stream is NULL on the CPU: the result is complete when run returns. */
  mote_status (*run)(const mote_call* call, void* stream);
  /* As run, for a call that can_run has accepted with these very dtypes, devices, extents, strides
   * and parameters; data pointers may differ, but are equal to those modulo 64, present where run
   * reads or writes, and the same outputs are where the same inputs are. So it need not check
   * anything. NULL, or absent if size ends before: a host calls run. */
  mote_status (*run_checked)(const mote_call* call, void* stream);
} mote_kernel;

/* The bytes of the least mote_kernel that a host takes: run_checked was appended later. */
#define MOTE_KERNEL_LEAST_SIZE offsetof(mote_kernel, run_checked)

typedef struct mote_backend {
  size_t size;
  const char* name; /* "openblas" */
  const char* version;
  int32_t kernel_count;
  int32_t reserved;
  const mote_kernel* kernels;
} mote_backend;

typedef struct mote_plugin {
  size_t size;
  int32_t abi_version; /* the plug-in sets MOTE_ABI_VERSION */
  int32_t backend_count;
  const mote_backend* backends;
} mote_plugin;

/* A plug-in exports this under the name "mote_plugin_init". It fills *plugin, whose size and
 * abi_version (the host's) are set; the pointers stay valid until the library is closed. */
typedef mote_status (*mote_plugin_init_fn)(mote_plugin* plugin);
MOTE_PLUGIN_EXPORT mote_status mote_plugin_init(mote_plugin* plugin);

#ifdef __cplusplus
}
#endif
#endif
