// SPDX-License-Identifier: Apache-2.0
/* The C interface (C99) of mote: tensors, ops, commands, backends, contexts, streams. It offers the
 * C++ runtime (mote/runtime/) under other names, with the same rules for shapes, strides and
 * errors.
 *
 * - Every function that can fail returns a mote_status; MOTE_OK is 0. mote_last_error() then says
 *   what was wrong: op, what, got, expected. On an error nothing has been written to the results.
 * - mote_X_free frees the result of mote_X_create; freeing NULL does nothing. A tensor's memory
 *   stays until the last view of it is freed.
 * - In arrays of tensors, NULL stands for an optional input or output that is left out.
 * - No function throws or aborts. Comments name the pointers that may be NULL; NULL for any other
 *   pointer is MOTE_INVALID. */
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

/* Returns the version, such as "0.3.0". */
MOTE_API const char* mote_version(void);
/* Returns the message of this thread's last call that failed; "" before the first. It is valid
 * until the next call fails. */
MOTE_API const char* mote_last_error(void);

/* The functions that give tensors their memory. allocate returns `bytes` bytes at a multiple of
 * `alignment`, or NULL if there is no memory. The setter affects tensors that are made later, and
 * is safe from any thread. */
typedef struct mote_allocator {
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  void (*release)(void* context, void* memory, size_t bytes, size_t alignment);
  void* context;
} mote_allocator;
MOTE_API mote_status mote_set_default_allocator(const mote_allocator* allocator);

/* ---- tensors: a mote_tensor begins with a DLTensor, tensor->dl ---- */

/* Finds a dtype by name: "f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8" or "bool". */
MOTE_API mote_status mote_dtype(const char* name, DLDataType* dtype);

/* Creates a row-major, uninitialised tensor. */
MOTE_API mote_status mote_tensor_create(DLDataType dtype, int32_t rank, const int64_t* shape,
                                        mote_tensor** tensor);
/* Creates the same tensor in the memory of a device, which is named as a loaded plug-in names it.
 * mote_tensor_copy moves elements to and from it. */
MOTE_API mote_status mote_tensor_create_on(const char* device, DLDataType dtype, int32_t rank,
                                           const int64_t* shape, mote_tensor** tensor);
/* The order in memory of the logical axes N, C, H, W. */
typedef enum mote_layout { MOTE_NCHW = 0, MOTE_NHWC = 1, MOTE_CHWN = 2 } mote_layout;
/* Creates an uninitialised tensor with the extents N, C, H, W. */
MOTE_API mote_status mote_tensor_create_nchw(DLDataType dtype, const int64_t* nchw,
                                             mote_layout layout, mote_tensor** tensor);
/* Creates a view of the caller's memory, which must outlive it. Strides count elements; NULL means
 * row-major. */
MOTE_API mote_status mote_tensor_over(void* data, DLDataType dtype, int32_t rank,
                                      const int64_t* shape, const int64_t* strides,
                                      mote_tensor** tensor);
MOTE_API void mote_tensor_free(mote_tensor* tensor);

/* These functions create views of the same memory. */
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
/* Returns a tensor of three axes as an image (rows, columns, channels): the same bytes. */
MOTE_API mote_status mote_tensor_as_image(mote_tensor* tensor, mote_image** image);

/* Elements are converted as casts do. index has one entry for each axis, and may be NULL at rank
 * 0. */
MOTE_API mote_status mote_tensor_fill_real(mote_tensor* y, double value);
MOTE_API mote_status mote_tensor_fill_integer(mote_tensor* y, int64_t value);
MOTE_API mote_status mote_tensor_copy(const mote_tensor* x, mote_tensor* y);
MOTE_API mote_status mote_tensor_real_at(const mote_tensor* x, const int64_t* index, double* value);
MOTE_API mote_status mote_tensor_integer_at(const mote_tensor* x, const int64_t* index,
                                            int64_t* value);
MOTE_API mote_status mote_tensor_set_real(mote_tensor* y, const int64_t* index, double value);
MOTE_API mote_status mote_tensor_set_integer(mote_tensor* y, const int64_t* index, int64_t value);

/* DLPack is imported and exported without a copy. The tensor takes ownership of `managed`; on an
 * error the caller still owns it. */
MOTE_API mote_status mote_tensor_from_dlpack(DLManagedTensor* managed, mote_tensor** tensor);
MOTE_API mote_status mote_tensor_to_dlpack(const mote_tensor* x, DLManagedTensor** managed);
/* Reads and writes .npy files. */
MOTE_API mote_status mote_tensor_read_npy(const char* path, mote_tensor** tensor);
MOTE_API mote_status mote_tensor_write_npy(const mote_tensor* x, const char* path);

/* ---- ops ---- */

/* Finds the op of that name or alias, with its inputs, outputs and parameters. The error names
 * similar ops. */
MOTE_API mote_status mote_op_find(const char* name, const mote_op_definition** definition);
/* Lists the ops of the catalogue and of registered libraries and sets `count` to their number. The
 * names are valid as long as the program. `names` may be NULL, else it has room for `room`
 * names. */
MOTE_API mote_status mote_op_names(const char** names, size_t room, size_t* count);
/* Adds the ops of a library that mote_add_kernels() (CMake) made. */
MOTE_API mote_status mote_register_library(const mote_kernel_library* library);
/* Finds the op that is the gradient of this one; NULL if there is none. */
MOTE_API mote_status mote_op_find_gradient(const char* name, const mote_op_gradient** gradient);

/* ---- the registry: an op's names, groups and attributes, which a program may add to ---- */

/* The position of an op in the order of registration. */
typedef uint32_t mote_op_id;
/* The usual level of attributes; if an attribute is registered at several levels, the highest
 * holds. */
#define MOTE_DEFAULT_LEVEL 10

/* Finds an op by name or alias. */
MOTE_API mote_status mote_op_id_of(const char* name, mote_op_id* op);
/* Adds an op that backends compute. Its family becomes its group, and its shapes are inferred by
 * the definition, which must stay as long as the program. `op` may be NULL. */
MOTE_API mote_status mote_op_register(const mote_op_definition* definition, mote_op_id* op);
MOTE_API mote_status mote_op_alias(mote_op_id op, const char* name);
/* Gives the op the group's attributes, now and in the future. */
MOTE_API mote_status mote_op_include(mote_op_id op, const char* group);
/* Lists the ops of a group and sets `count` to their number. `ops` may be NULL, else it has room
 * for `room` ids. */
MOTE_API mote_status mote_op_members(const char* group, mote_op_id* ops, size_t room,
                                     size_t* count);
/* Lists all attributes, including those of C++, as mote_op_names lists ops. */
MOTE_API mote_status mote_attribute_names(const char** names, size_t room, size_t* count);

/* Sets an attribute of an op, or of all ops of a group. The program owns the value, which may be
 * read until the program ends; then release(value) is called. release may be NULL. On an error (a
 * value of that level exists already; the attribute belongs to C++) the caller still owns the
 * value. In C++ it is an attribute of type std::shared_ptr<const void>. */
MOTE_API mote_status mote_op_set(mote_op_id op, const char* attribute, void* value,
                                 void (*release)(void* value), int32_t level);
MOTE_API mote_status mote_group_set(const char* group, const char* attribute, void* value,
                                    void (*release)(void* value), int32_t level);
/* All values of an attribute that C set, including those set later; valid as long as the
 * program. */
typedef struct mote_column mote_column;
MOTE_API mote_status mote_attribute_column(const char* attribute, const mote_column** column);
/* Returns the op's value; NULL if it has none or if column is NULL. Takes no lock. */
MOTE_API const void* mote_column_find(const mote_column* column, mote_op_id op);

/* ---- commands ---- */

typedef struct mote_command mote_command;
/* Creates a command: an op with parameters. axis may be NULL; params may be NULL if count is 0. */
MOTE_API mote_status mote_command_create(const char* op, const mote_param* params, size_t count,
                                         const int32_t* axis, mote_command** command);
/* Reads a text that mote_command_text returned, such as "conv2d stride0=2". */
MOTE_API mote_status mote_command_parse(const char* text, mote_command** command);
MOTE_API void mote_command_free(mote_command* command);
/* Returns the command as text, which is valid as long as the command. */
MOTE_API const char* mote_command_text(const mote_command* command);
MOTE_API int mote_command_equal(const mote_command* a, const mote_command* b);
/* Returns a hash that is equal for equal commands; 0 for NULL. */
MOTE_API size_t mote_command_hash(const mote_command* command);
/* Infers the dtypes and shapes of the outputs from those of the inputs, which may have no data. It
 * creates one tensor without memory for each output of the op; `output_count` must be their number.
 * `dtype` is that of the outputs if it does not follow from the inputs; it may be NULL. */
MOTE_API mote_status mote_infer(const mote_command* command, const mote_tensor* const* inputs,
                                size_t input_count, const DLDataType* dtype, mote_tensor** outputs,
                                size_t output_count);

/* ---- backends and contexts ---- */

/* Loads a plug-in; if `probe` is not 0, a child process loads it first. Its backends stay until the
 * process ends. */
MOTE_API mote_status mote_load_backends(const char* path, int probe);
/* Loads the plug-ins of $MOTE_PLUGIN_PATH and of the installation. If some are refused, it returns
 * MOTE_FAILED, mote_last_error() has one line for each, and the others are loaded. */
MOTE_API mote_status mote_load_found_backends(int probe);
/* Lists all loaded backends in the order of loading and sets `count` to their number; `backends`
 * may be NULL. */
MOTE_API mote_status mote_loaded_backends(const mote_backend** backends, size_t room,
                                          size_t* count);

typedef struct mote_context_options {
  size_t size; /* sizeof(mote_context_options) */
  const mote_backend* const* backends;
  size_t backend_count;
  size_t workspace_limit; /* in bytes, for all calls together; 0: no limit */
  int32_t workers;        /* the number of threads for streams; 0: as many as processors */
  int32_t reserved;
  const mote_allocator* allocator; /* for workspace; NULL: the default one */
} mote_context_options;
typedef struct mote_context mote_context;
/* Creates a context. If options is NULL, it has the generated kernels only and no limit. Many
 * threads may use one context; free it after everything that was made with it. */
MOTE_API mote_status mote_context_create(const mote_context_options* options,
                                         mote_context** context);
MOTE_API void mote_context_free(mote_context* context);

/* ---- running ---- */

typedef struct mote_stream mote_stream;
typedef struct mote_event mote_event;
typedef struct mote_prepared mote_prepared;

/* Runs the command. context may be NULL. Without a stream (NULL) the call is done when this
 * returns. With a stream it is checked now and run in the stream's order, and
 * mote_stream_synchronize reports the kernel's error. */
MOTE_API mote_status mote_run(const mote_command* command, const mote_tensor* const* inputs,
                              size_t input_count, mote_tensor* const* outputs, size_t output_count,
                              mote_context* context, mote_stream* stream);

typedef struct mote_run_options {
  size_t size;           /* sizeof(mote_run_options) */
  mote_context* context; /* may be NULL */
  mote_stream* stream;   /* may be NULL */
  /* Backends that are asked before those of the context. */
  const mote_backend* const* backends;
  size_t backend_count;
  /* Memory for kernels that need workspace; nothing else uses it until the call is done. A kernel
   * that needs more declines. NULL: the context's workspace. */
  void* workspace;
  size_t workspace_bytes;
  /* Not 0: no input holds a NaN or an infinity, or the caller accepts any result for them. */
  int32_t without_nan;
  int32_t reserved;
} mote_run_options;
/* Runs the command with all options. */
MOTE_API mote_status mote_run_with(const mote_command* command, const mote_tensor* const* inputs,
                                   size_t input_count, mote_tensor* const* outputs,
                                   size_t output_count, const mote_run_options* options);

/* Checks the call and chooses the kernel once for tensors of these dtypes, extents and strides. The
 * tensors' memory is kept; the tensors may be freed. */
MOTE_API mote_status mote_prepare(const mote_command* command, const mote_tensor* const* inputs,
                                  size_t input_count, mote_tensor* const* outputs,
                                  size_t output_count, mote_context* context,
                                  mote_prepared** prepared);
/* Prepares with all options except the stream, which mote_prepared_run takes. */
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
 * `kernel` receives its name, which is valid as long as the context; it may be NULL. */
MOTE_API mote_status mote_autotune(const mote_command* command, const mote_tensor* const* inputs,
                                   size_t input_count, mote_tensor* const* outputs,
                                   size_t output_count, mote_context* context, const char** kernel);
typedef struct mote_tuning_options {
  size_t size;    /* sizeof(mote_tuning_options) */
  double seconds; /* roughly, for all kernels together; 0: 1 */
  int32_t rounds; /* maximum number of measurements of each kernel; 0: 7 */
  int32_t again;  /* not 0: repeats measurements that exist already */
} mote_tuning_options;
MOTE_API mote_status mote_autotune_with(const mote_command* command,
                                        const mote_tensor* const* inputs, size_t input_count,
                                        mote_tensor* const* outputs, size_t output_count,
                                        mote_context* context, const mote_tuning_options* options,
                                        const char** kernel);
/* Saves and loads the measurements. If the file is damaged, or comes from another machine or set of
 * libraries, loading returns MOTE_FAILED and takes nothing from it; the next save replaces it. A
 * missing file is MOTE_OK. */
MOTE_API mote_status mote_save_tuning(mote_context* context, const char* path);
MOTE_API mote_status mote_load_tuning(mote_context* context, const char* path);

MOTE_API mote_status mote_stream_create(mote_context* context, mote_stream** stream);
/* Creates a stream on the device that a loaded plug-in offers under that name. Commands and copies
 * of the device's tensors are given to the device in order; other work begins when all earlier ones
 * are done. */
MOTE_API mote_status mote_stream_create_on(mote_context* context, const char* device,
                                           mote_stream** stream);
/* Computes y = x as mote_tensor_copy does, in the stream's order. */
MOTE_API mote_status mote_stream_copy(mote_stream* stream, const mote_tensor* x, mote_tensor* y);
/* Waits for the stream's work, then frees it. */
MOTE_API void mote_stream_free(mote_stream* stream);
/* Calls work(argument) in the stream's order; the status that it returns is the stream's error. */
MOTE_API mote_status mote_stream_enqueue(mote_stream* stream, mote_status (*work)(void* argument),
                                         void* argument);
MOTE_API mote_status mote_stream_record(mote_stream* stream, mote_event* event);
MOTE_API mote_status mote_stream_wait(mote_stream* stream, mote_event* event);
/* Waits for the stream and returns its first error since the last synchronisation. */
MOTE_API mote_status mote_stream_synchronize(mote_stream* stream);

MOTE_API mote_status mote_event_create(mote_event** event);
MOTE_API void mote_event_free(mote_event* event);
MOTE_API mote_status mote_event_synchronize(mote_event* event);
MOTE_API mote_status mote_event_is_over(const mote_event* event, int* is_over);

#ifdef __cplusplus
}
#endif

#include "mote/mote_graphs.h" /* graphs, executables, the planner of memory, dynamic graphs */

#endif
