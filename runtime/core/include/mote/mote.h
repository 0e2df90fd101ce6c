// SPDX-License-Identifier: Apache-2.0
/* mote from C (C99): tensors, ops, commands, backends, contexts, streams. It is the C++ runtime
 * (mote/runtime/) under other names, and says the same of shapes, strides and errors.
 *
 * - Every function that can fail returns a mote_status; MOTE_OK is 0. mote_last_error() then says
 *   what was wrong: op, what, got, expected. On an error nothing has been written to the results.
 * - What mote_X_create made, mote_X_free frees; freeing NULL does nothing. A tensor's memory stays
 *   until the last view of it is freed.
 * - Arrays of tensors: an optional input or output that is left out is NULL.
 * - No function throws or aborts. Pointers that may be NULL are named as such; others must not be,
 *   which is MOTE_INVALID. */
#ifndef MOTE_MOTE_H
#define MOTE_MOTE_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#include "mote/base/export_c.h"
#include "mote/base/kernel.h"
#include "mote/base/ops.h"
#include "mote/base/registry.h"
#include "mote/runtime/tensor_struct.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the library ---- */

/* "0.2.0" */
MOTE_API const char* mote_version(void);
/* What went wrong in this thread's last call that failed; "" before the first. Valid until the next
 * one fails. */
MOTE_API const char* mote_last_error(void);

/* Where tensors get their memory: `bytes` at a multiple of `alignment`, NULL where there is none.
 * Holds for tensors that are made later; safe from any thread. */
typedef struct mote_allocator {
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  void (*release)(void* context, void* memory, size_t bytes, size_t alignment);
  void* context;
} mote_allocator;
MOTE_API mote_status mote_set_default_allocator(const mote_allocator* allocator);

/* ---- tensors: a mote_tensor begins with a DLTensor, tensor->dl ---- */

/* "f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8", "bool" */
MOTE_API mote_status mote_dtype(const char* name, DLDataType* dtype);

/* Row-major, uninitialised. */
MOTE_API mote_status mote_tensor_create(DLDataType dtype, int32_t rank, const int64_t* shape,
                                        mote_tensor** tensor);
/* The same in the memory of a device, by the name that a plug-in which was loaded gives it.
 * Elements come and go by mote_tensor_copy. */
MOTE_API mote_status mote_tensor_create_on(const char* device, DLDataType dtype, int32_t rank,
                                           const int64_t* shape, mote_tensor** tensor);
/* The order in memory of the logical axes N, C, H, W. */
typedef enum mote_layout { MOTE_NCHW = 0, MOTE_NHWC = 1, MOTE_CHWN = 2 } mote_layout;
/* Of extents N, C, H, W; uninitialised. */
MOTE_API mote_status mote_tensor_create_nchw(DLDataType dtype, const int64_t* nchw,
                                             mote_layout layout, mote_tensor** tensor);
/* A view of the caller's memory, which outlives it. Strides in elements; NULL: row-major. */
MOTE_API mote_status mote_tensor_over(void* data, DLDataType dtype, int32_t rank,
                                      const int64_t* shape, const int64_t* strides,
                                      mote_tensor** tensor);
MOTE_API void mote_tensor_free(mote_tensor* tensor);

/* Views of the same memory. */
MOTE_API mote_status mote_tensor_slice(const mote_tensor* x, int32_t axis, int64_t begin,
                                       int64_t count, int64_t step, mote_tensor** view);
MOTE_API mote_status mote_tensor_select(const mote_tensor* x, int32_t axis, int64_t index,
                                        mote_tensor** view);
/* Axis k of the view is axis order[k]. */
MOTE_API mote_status mote_tensor_permute(const mote_tensor* x, int32_t rank, const int32_t* order,
                                         mote_tensor** view);
MOTE_API mote_status mote_tensor_broadcast_to(const mote_tensor* x, int32_t rank,
                                              const int64_t* shape, mote_tensor** view);
MOTE_API mote_status mote_tensor_reshape(const mote_tensor* x, int32_t rank, const int64_t* shape,
                                         mote_tensor** view);
/* The same bytes as an image (rows, columns, channels); of three axes. */
MOTE_API mote_status mote_tensor_as_image(mote_tensor* tensor, mote_image** image);

/* Elements, converted as casts do. index: one for each axis; may be NULL at rank 0. */
MOTE_API mote_status mote_tensor_fill_real(mote_tensor* y, double value);
MOTE_API mote_status mote_tensor_fill_integer(mote_tensor* y, int64_t value);
MOTE_API mote_status mote_tensor_copy(const mote_tensor* x, mote_tensor* y);
MOTE_API mote_status mote_tensor_real_at(const mote_tensor* x, const int64_t* index, double* value);
MOTE_API mote_status mote_tensor_integer_at(const mote_tensor* x, const int64_t* index,
                                            int64_t* value);
MOTE_API mote_status mote_tensor_set_real(mote_tensor* y, const int64_t* index, double value);
MOTE_API mote_status mote_tensor_set_integer(mote_tensor* y, const int64_t* index, int64_t value);

/* DLPack without a copy. The tensor takes `managed` over; on an error the caller still owns it. */
MOTE_API mote_status mote_tensor_from_dlpack(DLManagedTensor* managed, mote_tensor** tensor);
MOTE_API mote_status mote_tensor_to_dlpack(const mote_tensor* x, DLManagedTensor** managed);
/* .npy files */
MOTE_API mote_status mote_tensor_read_npy(const char* path, mote_tensor** tensor);
MOTE_API mote_status mote_tensor_write_npy(const mote_tensor* x, const char* path);

/* ---- ops ---- */

/* The op of that name or alias, with its inputs, outputs and parameters; the names of near ones are
 * in the error. */
MOTE_API mote_status mote_op_find(const char* name, const mote_op_definition** definition);
/* The ops of the catalogue and of libraries that were registered: `count` of them, names valid as
 * long as the program; `names` may be NULL, else has room for `room`. */
MOTE_API mote_status mote_op_names(const char** names, size_t room, size_t* count);
/* Adds the ops of a library that mote_add_kernels() (CMake) made. */
MOTE_API mote_status mote_register_library(const mote_kernel_library* library);
/* The op that is the gradient of this one; NULL where there is none. */
MOTE_API mote_status mote_op_find_gradient(const char* name, const mote_op_gradient** gradient);

/* ---- the registry: an op's names, groups and attributes, which a program may add to ---- */

/* Position of an op in the order of registration. */
typedef uint32_t mote_op_id;
/* The level at which attributes are registered as a rule; of several the highest holds. */
#define MOTE_DEFAULT_LEVEL 10

/* By name or alias. */
MOTE_API mote_status mote_op_id_of(const char* name, mote_op_id* op);
/* Adds an op that backends compute: with its family as a group, and shapes inferred by the
 * definition, which stays as long as the program. `op` may be NULL. */
MOTE_API mote_status mote_op_register(const mote_op_definition* definition, mote_op_id* op);
MOTE_API mote_status mote_op_alias(mote_op_id op, const char* name);
/* The op has the group's attributes from now on. */
MOTE_API mote_status mote_op_include(mote_op_id op, const char* group);
/* The ops of a group: `count` of them; `ops` may be NULL, else has room for `room`. */
MOTE_API mote_status mote_op_members(const char* group, mote_op_id* ops, size_t room,
                                     size_t* count);
/* All attributes, those of C++ too; as mote_op_names. */
MOTE_API mote_status mote_attribute_names(const char** names, size_t room, size_t* count);

/* Sets an attribute of an op, or of all ops of a group. The value is the program's; it may be read
 * until the program ends, and then release(value) is called. release may be NULL. On an error (a
 * value of that level is there already; an attribute of C++) the caller still owns it. In C++ it is
 * an attribute of type std::shared_ptr<const void>. */
MOTE_API mote_status mote_op_set(mote_op_id op, const char* attribute, void* value,
                                 void (*release)(void* value), int32_t level);
MOTE_API mote_status mote_group_set(const char* group, const char* attribute, void* value,
                                    void (*release)(void* value), int32_t level);
/* All values of an attribute that C set, those set later too; valid as long as the program. */
typedef struct mote_column mote_column;
MOTE_API mote_status mote_attribute_column(const char* attribute, const mote_column** column);
/* The op's value; NULL where it has none, and for NULL. Takes no lock. */
MOTE_API const void* mote_column_find(const mote_column* column, mote_op_id op);

/* ---- commands ---- */

typedef struct mote_command mote_command;
/* An op with parameters; axis may be NULL. params may be NULL where count is 0. */
MOTE_API mote_status mote_command_create(const char* op, const mote_param* params, size_t count,
                                         const int32_t* axis, mote_command** command);
/* What mote_command_text gave, "conv2d stride0=2". */
MOTE_API mote_status mote_command_parse(const char* text, mote_command** command);
MOTE_API void mote_command_free(mote_command* command);
/* Valid as long as the command. */
MOTE_API const char* mote_command_text(const mote_command* command);
MOTE_API int mote_command_equal(const mote_command* a, const mote_command* b);
/* Equal commands have equal ones; 0 for NULL. */
MOTE_API size_t mote_command_hash(const mote_command* command);
/* The dtypes and shapes of the outputs, from those of the inputs (which may have no data): one
 * tensor without memory for each output of the op, so many as `output_count` must say. dtype: of
 * the outputs where it does not follow from the inputs; may be NULL. */
MOTE_API mote_status mote_infer(const mote_command* command, const mote_tensor* const* inputs,
                                size_t input_count, const DLDataType* dtype, mote_tensor** outputs,
                                size_t output_count);

/* ---- backends and contexts ---- */

/* Loads a plug-in, in a child process first if `probe` is not 0. Its backends stay until the
 * process ends. */
MOTE_API mote_status mote_load_backends(const char* path, int probe);
/* Loads what $MOTE_PLUGIN_PATH and the installation have. The problems of those that are left out
 * are in mote_last_error(), one a line; then it returns MOTE_FAILED, and the others are loaded. */
MOTE_API mote_status mote_load_found_backends(int probe);
/* All that are loaded, in that order: `count` of them; `backends` may be NULL. */
MOTE_API mote_status mote_loaded_backends(const mote_backend** backends, size_t room,
                                          size_t* count);

typedef struct mote_context_options {
  size_t size; /* sizeof(mote_context_options) */
  const mote_backend* const* backends;
  size_t backend_count;
  size_t workspace_limit; /* bytes of all calls together; 0: no limit */
  int32_t workers;        /* threads for streams; 0: as many as processors */
  int32_t reserved;
  const mote_allocator* allocator; /* of workspace; NULL: the default one */
} mote_context_options;
typedef struct mote_context mote_context;
/* options may be NULL: the generated kernels, no limit. A context may be used from many threads; it
 * is freed after all that was made with it. */
MOTE_API mote_status mote_context_create(const mote_context_options* options,
                                         mote_context** context);
MOTE_API void mote_context_free(mote_context* context);

/* ---- running ---- */

typedef struct mote_stream mote_stream;
typedef struct mote_event mote_event;
typedef struct mote_prepared mote_prepared;

/* Runs the command. context may be NULL. With a stream: checked now, run in the stream's order; the
 * kernel's error comes with mote_stream_synchronize. stream may be NULL: done when it returns. */
MOTE_API mote_status mote_run(const mote_command* command, const mote_tensor* const* inputs,
                              size_t input_count, mote_tensor* const* outputs, size_t output_count,
                              mote_context* context, mote_stream* stream);

typedef struct mote_run_options {
  size_t size;           /* sizeof(mote_run_options) */
  mote_context* context; /* may be NULL */
  mote_stream* stream;   /* may be NULL */
  /* Asked before those of the context. */
  const mote_backend* const* backends;
  size_t backend_count;
  /* Memory for kernels that want some, used by nobody else until the call is done; a kernel that
   * wants more declines. NULL: the context's. */
  void* workspace;
  size_t workspace_bytes;
  /* Not 0: no input holds a NaN or an infinity, or it does not matter what becomes of it. */
  int32_t without_nan;
  int32_t reserved;
} mote_run_options;
/* mote_run with all that can be chosen. */
MOTE_API mote_status mote_run_with(const mote_command* command, const mote_tensor* const* inputs,
                                   size_t input_count, mote_tensor* const* outputs,
                                   size_t output_count, const mote_run_options* options);

/* Checks and chooses once for tensors of these forms; their memory is kept, the tensors need not
 * be. */
MOTE_API mote_status mote_prepare(const mote_command* command, const mote_tensor* const* inputs,
                                  size_t input_count, mote_tensor* const* outputs,
                                  size_t output_count, mote_context* context,
                                  mote_prepared** prepared);
/* mote_prepare with all that can be chosen, but the stream: that is mote_prepared_run's. */
MOTE_API mote_status mote_prepare_with(const mote_command* command,
                                       const mote_tensor* const* inputs, size_t input_count,
                                       mote_tensor* const* outputs, size_t output_count,
                                       const mote_run_options* options, mote_prepared** prepared);
/* stream may be NULL. */
MOTE_API mote_status mote_prepared_run(mote_prepared* prepared, mote_stream* stream);
MOTE_API mote_status mote_prepared_rebind(mote_prepared* prepared, const mote_tensor* const* inputs,
                                          size_t input_count, mote_tensor* const* outputs,
                                          size_t output_count);
MOTE_API void mote_prepared_free(mote_prepared* prepared);

/* Measures all kernels that take the call, on copies; from then on the context runs the fastest.
 * `kernel` is its name, valid as long as the context; may be NULL. */
MOTE_API mote_status mote_autotune(const mote_command* command, const mote_tensor* const* inputs,
                                   size_t input_count, mote_tensor* const* outputs,
                                   size_t output_count, mote_context* context, const char** kernel);
typedef struct mote_tuning_options {
  size_t size;    /* sizeof(mote_tuning_options) */
  double seconds; /* for all kernels together, about; 0: 1 */
  int32_t rounds; /* that each kernel is measured at most; 0: 7 */
  int32_t again;  /* not 0: measures again what was measured already */
} mote_tuning_options;
MOTE_API mote_status mote_autotune_with(const mote_command* command,
                                        const mote_tensor* const* inputs, size_t input_count,
                                        mote_tensor* const* outputs, size_t output_count,
                                        mote_context* context, const mote_tuning_options* options,
                                        const char** kernel);
/* What was measured, as a file. One that is damaged, or of another machine or set of libraries, is
 * MOTE_FAILED and nothing is taken from it; the next save replaces it. No file is MOTE_OK. */
MOTE_API mote_status mote_save_tuning(mote_context* context, const char* path);
MOTE_API mote_status mote_load_tuning(mote_context* context, const char* path);

MOTE_API mote_status mote_stream_create(mote_context* context, mote_stream** stream);
/* On a device of a plug-in that was loaded, by its name: commands and copies of the device's
 * tensors are given to the device in order, other work begins when those before it are done. */
MOTE_API mote_status mote_stream_create_on(mote_context* context, const char* device,
                                           mote_stream** stream);
/* y = x, as mote_tensor_copy, in the stream's order. */
MOTE_API mote_status mote_stream_copy(mote_stream* stream, const mote_tensor* x, mote_tensor* y);
/* Waits for its work. */
MOTE_API void mote_stream_free(mote_stream* stream);
/* Calls work(argument) in the stream's order; what it returns is the stream's error. */
MOTE_API mote_status mote_stream_enqueue(mote_stream* stream, mote_status (*work)(void* argument),
                                         void* argument);
MOTE_API mote_status mote_stream_record(mote_stream* stream, mote_event* event);
MOTE_API mote_status mote_stream_wait(mote_stream* stream, mote_event* event);
/* The stream's first error since the last time. */
MOTE_API mote_status mote_stream_synchronize(mote_stream* stream);

MOTE_API mote_status mote_event_create(mote_event** event);
MOTE_API void mote_event_free(mote_event* event);
MOTE_API mote_status mote_event_synchronize(mote_event* event);
MOTE_API mote_status mote_event_is_over(const mote_event* event, int* is_over);

#ifdef __cplusplus
}
#endif
#endif
